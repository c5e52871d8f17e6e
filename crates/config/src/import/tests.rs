//! What other clients write, and what becomes of it.

#![expect(
    clippy::needless_pass_by_value,
    reason = "a table reads better without a reference at each row"
)]

use std::fmt::Write as _;

use expect_test::{Expect, expect};

use super::import;
use crate::environment::Environment;
use crate::folder::Files;
use crate::load::evaluate;

/// Imports, shows the outcome, and loads it with every variable set that the test names.
fn imported(text: &str, variables: &[&str], expected: Expect) {
    let imported = import(text, "theirs.json").unwrap();
    let mut shown = imported.mcp_json.clone();
    for warning in &imported.warnings {
        writeln!(shown, "! {warning}").unwrap();
    }
    let environment = Environment::with_variables(variables.iter().map(|name| (*name, "value")));
    let files = Files::of("conf", &[("mcp.json", &imported.mcp_json)]);
    match evaluate(&files, &environment).result {
        Ok(config) => {
            let names: Vec<&str> = config.servers.iter().map(|server| server.name.as_str()).collect();
            assert_eq!(names, imported.servers);
        }
        Err(problems) => {
            for problem in &problems {
                writeln!(shown, "!! {problem}").unwrap();
            }
        }
    }
    expected.assert_eq(&shown);
}

#[test]
fn claude_desktop() {
    imported(
        r#"{"mcpServers": {
            "filesystem": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/home/me"]},
            "My GitHub": {"command": "docker", "args": ["run", "-i"], "env": {"GITHUB_TOKEN": "ghp_plain", "PRICE": "$5 $$"}}
        }, "globalShortcut": "Ctrl+Space"}"#,
        &[],
        expect![[r#"
            {
              "mcpServers": {
                "My-GitHub": {
                  "args": [
                    "run",
                    "-i"
                  ],
                  "command": "docker",
                  "env": {
                    "GITHUB_TOKEN": "ghp_plain",
                    "PRICE": "$5 $$$$"
                  }
                },
                "filesystem": {
                  "args": [
                    "-y",
                    "@modelcontextprotocol/server-filesystem",
                    "/home/me"
                  ],
                  "command": "npx"
                }
              }
            }
            ! server `My GitHub` became `My-GitHub`, since its name is not allowed here
            ! server `My-GitHub`: `env.GITHUB_TOKEN` holds a credential as it is; put it into a variable and write `${VARIABLE}`
        "#]],
    );
}

#[test]
fn claude_code_with_projects() {
    imported(
        r#"{"numStartups": 5, "mcpServers": {"a": {"type": "stdio", "command": "a", "args": [], "env": {}}},
            "projects": {
                "/home/me/x": {"allowedTools": [], "mcpServers": {"a": {"type": "stdio", "command": "a", "args": [], "env": {}}}},
                "/home/me/y": {"mcpServers": {
                    "a": {"type": "http", "url": "${API_BASE:-https://a.example}/mcp", "headers": {"Authorization": "Bearer ${API_KEY}"}, "timeout": 600000},
                    "b": {"type": "sse", "url": "https://b.example/sse", "oauth": {"clientId": "x"}, "headersHelper": "x.sh"}}},
                "/home/me/z": {}
            }}"#,
        &["API_KEY"],
        expect![[r#"
            {
              "mcpServers": {
                "a": {
                  "args": [],
                  "command": "a",
                  "env": {},
                  "type": "stdio"
                },
                "a-2": {
                  "headers": {
                    "Authorization": "Bearer ${API_KEY}"
                  },
                  "timeout": "600000ms",
                  "type": "http",
                  "url": "${API_BASE:-https://a.example}/mcp"
                },
                "b": {
                  "type": "sse",
                  "url": "https://b.example/sse"
                }
              }
            }
            ! server `a`: `timeout: 600000` was taken as milliseconds
            ! server `a` of project `/home/me/y` differs from another of that name and became `a-2`
            ! server `b`: `oauth` was left out: write `"auth": "oauth"` where people sign in to the server
            ! server `b`: `headersHelper` was left out: write `"auth": "oauth"` where people sign in to the server
        "#]],
    );
}

#[test]
fn vs_code_with_inputs() {
    imported(
        r#"{
            // asked once
            "inputs": [
                {"type": "promptString", "id": "perplexity-key", "description": "Perplexity API key", "password": true},
                {"type": "pickString", "id": "region", "description": "Region", "options": ["eu", "us"], "default": "eu"},
            ],
            "servers": {
                "perplexity": {"type": "stdio", "command": "npx", "args": ["-y", "server", "--region", "${input:region}"],
                    "env": {"PERPLEXITY_API_KEY": "${input:perplexity-key}", "PORT": 80, "NONE": null},
                    "envFile": "${workspaceFolder}/.env", "dev": {"watch": "x"}, "gallery": true},
                "fetch": {"type": "http", "url": "https://f.example/mcp", "headers": {"X-Key": "${env:MY_KEY}"}},
                "local": {"command": "${workspaceFolder}/run", "cwd": "${userHome}/x", "args": ["${config:x.y}"], "disabled": true},
            }
        }"#,
        &["PERPLEXITY_KEY", "MY_KEY", "WORKSPACE_FOLDER", "HOME"],
        expect![[r#"
            {
              "mcpServers": {
                "fetch": {
                  "headers": {
                    "X-Key": "${MY_KEY}"
                  },
                  "type": "http",
                  "url": "https://f.example/mcp"
                },
                "local": {
                  "args": [
                    "${config:x.y}"
                  ],
                  "command": "${WORKSPACE_FOLDER}/run",
                  "cwd": "${HOME}/x",
                  "suspended": true
                },
                "perplexity": {
                  "args": [
                    "-y",
                    "server",
                    "--region",
                    "${REGION:-eu}"
                  ],
                  "command": "npx",
                  "env": {
                    "PERPLEXITY_API_KEY": "${PERPLEXITY_KEY}",
                    "PORT": 80
                  },
                  "type": "stdio"
                }
              }
            }
            ! server `perplexity`: `args` was asked for ("Region"); set the variable `REGION`, else its default holds
            ! server `perplexity`: `env.PERPLEXITY_API_KEY` was asked for ("Perplexity API key"); set the variable `PERPLEXITY_KEY`
            ! server `perplexity`: `envFile` was left out: the variables of that file must be set for the gateway, or written into `env`
            ! server `perplexity`: `dev` was left out: it is another client's key and is not used here
            ! server `perplexity`: `gallery` was left out: it is another client's key and is not used here
            ! server `local`: `command` names the other client's folder; set the variable `WORKSPACE_FOLDER` to it
            ! server `local`: `args` has `${config:x.y}`, which has no meaning here; write the value
            !! conf/mcp.json:12:9: server `local`: `args[0]` has `${config:x.y}`, which is not a reference
        "#]],
    );
}

#[test]
fn vs_code_settings() {
    imported(
        r#"{"editor.fontSize": 12, "mcp": {"inputs": [{"id": "1st", "type": "promptString", "description": "First"}],
            "servers": {"a": {"command": "a", "env": {"X": "${input:1st}"}}}}}"#,
        &["INPUT_1ST"],
        expect![[r#"
            {
              "mcpServers": {
                "a": {
                  "command": "a",
                  "env": {
                    "X": "${INPUT_1ST}"
                  }
                }
              }
            }
            ! server `a`: `env.X` was asked for ("First"); set the variable `INPUT_1ST`
        "#]],
    );
}

#[test]
fn windsurf_cline_gemini_and_zed() {
    imported(
        r#"{"mcpServers": {
            "w": {"serverUrl": "https://w.example/mcp", "disabledTools": ["x"]},
            "c": {"type": "streamableHttp", "url": "https://c.example/mcp", "timeout": 60, "autoApprove": ["x"], "disabled": false},
            "g": {"httpUrl": "https://g.example/mcp", "timeout": 5000, "trust": true, "includeTools": ["a"]},
            "t": {"command": "t", "tools": ["*"]},
            "none": {"note": "nothing"},
            "text": "x"
        }, "context_servers": {"z": {"source": "custom", "command": "z", "args": ["${workspaceFolder"], "env": {"A": "${A:-${B}}"}}}}"#,
        &[],
        expect![[r#"
            {
              "mcpServers": {
                "c": {
                  "timeout": 60,
                  "type": "http",
                  "url": "https://c.example/mcp"
                },
                "g": {
                  "timeout": "5000ms",
                  "type": "http",
                  "url": "https://g.example/mcp"
                },
                "t": {
                  "command": "t"
                },
                "w": {
                  "url": "https://w.example/mcp"
                },
                "z": {
                  "args": [
                    "$${workspaceFolder"
                  ],
                  "command": "z",
                  "env": {
                    "A": "${A:-${B}}"
                  }
                }
              }
            }
            ! server `w`: `disabledTools` was left out: it is another client's key and is not used here: every tool of the server is served
            ! server `c`: `autoApprove` was left out: it is another client's key and is not used here
            ! server `g`: `timeout: 5000` was taken as milliseconds
            ! server `g`: `trust` was left out: it is another client's key and is not used here
            ! server `g`: `includeTools` was left out: it is another client's key and is not used here: every tool of the server is served
            ! server `none`: `note` was left out: it is another client's key and is not used here
            ! server `none` was left out, since it has neither `command` nor `url`
            ! server `text` was left out, since it is a string and not a map
            ! server `z`: `source` was left out: it is another client's key and is not used here
            ! server `z`: `env.A` has `${A:-${B}`, whose default is a reference, which is not supported; write the value
            !! conf/mcp.json:25:14: server `z`: `env.A` has the reference `A` with another reference as its default
        "#]],
    );
}

#[test]
fn our_own_file_passes_unchanged() {
    imported(
        r#"{"mcpServers": {"a": {"command": "a", "labels": {"team": "x"}, "toolPrefix": "", "timeout": "90s",
            "access": [{"class": "read", "tools": ["get_*"]}], "trustAnnotations": true, "shared": true, "auth": "none"}}}"#,
        &[],
        expect![[r#"
            {
              "mcpServers": {
                "a": {
                  "access": [
                    {
                      "class": "read",
                      "tools": [
                        "get_*"
                      ]
                    }
                  ],
                  "command": "a",
                  "labels": {
                    "team": "x"
                  },
                  "shared": true,
                  "timeout": "90s",
                  "toolPrefix": "",
                  "trustAnnotations": true
                }
              }
            }
        "#]],
    );
}

#[test]
fn what_is_no_list_of_servers_is_refused() {
    let mut table = String::new();
    for text in [
        "",
        "[]",
        "{}",
        "{\"mcpServers\": []}",
        "{\"mcpServers\": {}, \"mcpServers\": {}}",
        "{'a'}",
    ] {
        writeln!(table, "{:?}", import(text, "theirs.json").unwrap_err()).unwrap();
    }
    expect![[r#"
        Error: theirs.json:1:1: expected a value, found the end of the file
        Error: theirs.json:1:1: holds no list of servers (help: looked for `mcpServers`, `servers`, `mcp.servers`, `context_servers` and `projects.*.mcpServers`)
        Error: theirs.json:1:1: holds no list of servers (help: looked for `mcpServers`, `servers`, `mcp.servers`, `context_servers` and `projects.*.mcpServers`)
        Error: theirs.json:1:1: holds no list of servers (help: looked for `mcpServers`, `servers`, `mcp.servers`, `context_servers` and `projects.*.mcpServers`)
        Error: theirs.json:1:20: duplicate key `mcpServers`; it stands on line 1 already
        Error: theirs.json:1:2: expected a key in double quotes or `}`, found `'`; text stands in double quotes
    "#]].assert_eq(&table);
}

#[test]
fn values_of_the_wrong_kind_are_left_out_and_said() {
    imported(
        r#"{"mcpServers": {"a": {"command": "x", "args": "--flag", "env": ["A=1"], "cwd": null},
            "b": {"url": "http://127.0.0.1:1/mcp", "headers": "X: 1"}, "c": {"command": ["npx", "-y"]}}}"#,
        &[],
        expect![[r#"
            {
              "mcpServers": {
                "a": {
                  "command": "x"
                },
                "b": {
                  "url": "http://127.0.0.1:1/mcp"
                }
              }
            }
            ! server `a`: `args` was left out: it is a string and not a list
            ! server `a`: `env` was left out: it is a list and not a map
            ! server `b`: `headers` was left out: it is a string and not a map
            ! server `c`: `command` was left out: it is a list and not a string
            ! server `c` was left out, since it has neither `command` nor `url`
        "#]],
    );
}
