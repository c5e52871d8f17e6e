//! The head of a ranked list is right for the pinned cases and for others like them.

use super::*;

struct Corpus {
    tools: Vec<(String, String, Vec<String>)>,
}

impl Corpus {
    fn pinned() -> (Self, serde_json::Value) {
        let file: serde_json::Value = serde_json::from_str(include_str!("cases.json")).unwrap();
        let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
        let tools = file["tools"].as_array().unwrap().iter().map(|tool| {
            let parameters = tool["parameters"].as_array().unwrap().iter().map(text).collect();
            (text(&tool["name"]), text(&tool["description"]), parameters)
        });
        (Self { tools: tools.collect() }, file["cases"].clone())
    }

    fn index(&self) -> Index {
        let documents: Vec<Document<'_>> = self
            .tools
            .iter()
            .map(|(name, description, parameters)| Document {
                name,
                title: None,
                description,
                parameters,
                labels: &[],
            })
            .collect();
        Index::build(&documents)
    }

    fn found(&self, index: &Index, query: &str) -> Vec<(String, f64)> {
        index
            .search(query)
            .iter()
            .map(|hit| (self.tools[hit.document].0.clone(), hit.score))
            .collect()
    }
}

/// What is wrong with the head of a query's answers, if anything.
fn wrong_head(corpus: &Corpus, index: &Index, query: &str, wanted: &[&str]) -> Option<String> {
    let found = corpus.found(index, query);
    let mut head: Vec<&str> = found.iter().take(wanted.len()).map(|(name, _)| name.as_str()).collect();
    head.sort_unstable();
    let mut wanted = wanted.to_vec();
    wanted.sort_unstable();
    let shown: Vec<String> = found
        .iter()
        .take(5)
        .map(|(name, score)| format!("{name} {score:.3}"))
        .collect();
    (head != wanted).then(|| format!("`{query}` wanted {wanted:?} and gave {}", shown.join(", ")))
}

fn assert_heads<'c>(corpus: &Corpus, cases: impl Iterator<Item = (&'c str, Vec<&'c str>)>) {
    let index = corpus.index();
    let wrong: Vec<String> = cases
        .filter_map(|(query, wanted)| wrong_head(corpus, &index, query, &wanted))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn pinned_cases_have_their_heads() {
    let (corpus, cases) = Corpus::pinned();
    let cases = cases.as_array().unwrap().iter().map(|case| {
        let wanted = case["first"]
            .as_array()
            .unwrap()
            .iter()
            .map(|name| name.as_str().unwrap())
            .collect();
        (case["query"].as_str().unwrap(), wanted)
    });
    assert_heads(&corpus, cases);
}

#[test]
fn other_queries_over_the_same_tools_have_their_heads() {
    let (corpus, _) = Corpus::pinned();
    let cases: &[(&str, &[&str])] = &[
        ("delete pod", &["x_k8s_delete_pod"]),
        ("delete pods", &["x_k8s_delete_pod"]),
        ("deleting a pod in kubernetes", &["x_k8s_delete_pod"]),
        ("list pods", &["x_k8s_list_pods"]),
        ("show me the pods", &["x_k8s_list_pods"]),
        ("container logs", &["x_k8s_get_pod_logs"]),
        ("tail lines", &["x_k8s_get_pod_logs"]),
        ("number of replicas", &["x_k8s_scale_deployment"]),
        ("scaling deployments", &["x_k8s_scale_deployment"]),
        ("recent events", &["x_k8s_get_events"]),
        ("create calendar event", &["x_calendar_create_event"]),
        ("add a meeting to my calendar", &["x_calendar_create_event"]),
        ("create a pull request", &["x_github_create_pull_request"]),
        (
            "open pull request",
            &["x_github_create_pull_request", "x_github_merge_pull_request"],
        ),
        ("list pull requests", &["x_github_list_pull_requests"]),
        ("merging pull requests", &["x_github_merge_pull_request"]),
        ("search code in repositories", &["x_github_search_code"]),
        ("read file", &["x_files_read_text_file"]),
        ("read a text file from disk", &["x_files_read_text_file"]),
        ("write file", &["x_files_write_file"]),
        ("writing files", &["x_files_write_file"]),
        ("file contents of a repo", &["x_github_get_file_contents"]),
        ("create an issue", &["x_github_create_issue"]),
        ("triage an incident", &["workflow_incident_triage"]),
        ("current time", &["x_time_get_current_time"]),
        ("time zone", &["x_time_get_current_time"]),
        ("time range query", &["x_prometheus_query_range"]),
        ("PromQL expression", &["x_prometheus_query_range"]),
        ("list alerts", &["x_prometheus_list_alerts"]),
        ("pending alerts", &["x_prometheus_list_alerts"]),
        ("run sql statement", &["x_postgres_query"]),
        ("query postgres", &["x_postgres_query"]),
        ("post a message to a channel", &["x_slack_post_message"]),
        ("posting to slack", &["x_slack_post_message"]),
        ("find messages that contain words", &["x_slack_search_messages"]),
        ("restart an upstream", &["core_server_restart"]),
        ("restarting servers", &["core_server_restart"]),
        ("pull request number", &["x_github_merge_pull_request"]),
        ("label selector", &["x_k8s_list_pods"]),
        ("kubernetes pod logs", &["x_k8s_get_pod_logs"]),
        ("k8s events", &["x_k8s_get_events"]),
        ("github", &[]),
        ("calendar", &["x_calendar_create_event"]),
        ("send message", &["x_slack_post_message"]),
        ("show alerts", &["x_prometheus_list_alerts"]),
        ("collect logs of failing pods", &["workflow_incident_triage"]),
    ];
    assert_heads(&corpus, cases.iter().map(|(query, wanted)| (*query, wanted.to_vec())));
}

/// Tools as real servers write them: long descriptions, camel case, the same verbs everywhere.
const REAL: &[(&str, &str, &str)] = &[
    (
        "x_fs_read_file",
        "Read the complete contents of a file as text. DEPRECATED: Use read_text_file instead.",
        "path tail head",
    ),
    (
        "x_fs_read_text_file",
        "Read the complete contents of a file from the file system as text. Handles various text encodings and provides detailed error messages if the file cannot be read. Use this tool when you need to examine the contents of a single file. Use the 'head' parameter to read only the first N lines of a file, or the 'tail' parameter to read only the last N lines of a file. Only works within allowed directories.",
        "path tail head",
    ),
    (
        "x_fs_read_media_file",
        "Read an image or audio file. Returns the base64 encoded data and MIME type. Only works within allowed directories.",
        "path",
    ),
    (
        "x_fs_read_multiple_files",
        "Read the contents of multiple files simultaneously. This is more efficient than reading files one by one when you need to analyze or compare multiple files. Only works within allowed directories.",
        "paths",
    ),
    (
        "x_fs_write_file",
        "Create a new file or completely overwrite an existing file with new content. Use with caution as it will overwrite existing files without warning. Only works within allowed directories.",
        "path content",
    ),
    (
        "x_fs_edit_file",
        "Make line-based edits to a text file. Each edit replaces exact line sequences with new content. Returns a git-style diff showing the changes made. Only works within allowed directories.",
        "path edits dryRun",
    ),
    (
        "x_fs_create_directory",
        "Create a new directory or ensure a directory exists. Can create multiple nested directories in one operation.",
        "path",
    ),
    (
        "x_fs_list_directory",
        "Get a detailed listing of all files and directories in a specified path. Results clearly distinguish between files and directories with [FILE] and [DIR] prefixes.",
        "path",
    ),
    (
        "x_fs_directory_tree",
        "Get a recursive tree view of files and directories as a JSON structure.",
        "path excludePatterns",
    ),
    (
        "x_fs_move_file",
        "Move or rename files and directories. Can move files between directories and rename them in a single operation. If the destination exists, the operation will fail.",
        "source destination",
    ),
    (
        "x_fs_search_files",
        "Recursively search for files and directories matching a pattern.",
        "path pattern excludePatterns",
    ),
    (
        "x_fs_get_file_info",
        "Retrieve detailed metadata about a file or directory. Returns comprehensive information including size, creation time, last modified time, permissions, and type.",
        "path",
    ),
    (
        "x_fs_list_allowed_directories",
        "Returns the list of directories that this server is allowed to access.",
        "",
    ),
    ("x_git_status", "Shows the working tree status", "repo_path"),
    (
        "x_git_diff_unstaged",
        "Shows changes in the working directory that are not yet staged",
        "repo_path context_lines",
    ),
    (
        "x_git_diff_staged",
        "Shows changes that are staged for commit",
        "repo_path context_lines",
    ),
    ("x_git_commit", "Records changes to the repository", "repo_path message"),
    ("x_git_add", "Adds file contents to the staging area", "repo_path files"),
    ("x_git_reset", "Unstages all staged changes", "repo_path"),
    (
        "x_git_log",
        "Shows the commit logs",
        "repo_path max_count start_timestamp end_timestamp",
    ),
    (
        "x_git_create_branch",
        "Creates a new branch from an optional base branch",
        "repo_path branch_name base_branch",
    ),
    ("x_git_checkout", "Switches branches", "repo_path branch_name"),
    (
        "x_git_branch",
        "List Git branches",
        "repo_path branch_type contains not_contains",
    ),
    (
        "x_time_get_current_time",
        "Get current time in a specific timezones",
        "timezone",
    ),
    (
        "x_time_convert_time",
        "Convert time between timezones",
        "source_timezone time target_timezone",
    ),
    (
        "x_fetch_fetch",
        "Fetches a URL from the internet and optionally extracts its contents as markdown.",
        "url max_length start_index raw",
    ),
    (
        "x_sqlite_read_query",
        "Execute a SELECT query on the SQLite database",
        "query",
    ),
    (
        "x_sqlite_write_query",
        "Execute an INSERT, UPDATE, or DELETE query on the SQLite database",
        "query",
    ),
    (
        "x_sqlite_create_table",
        "Create a new table in the SQLite database",
        "query",
    ),
    ("x_sqlite_list_tables", "List all tables in the SQLite database", ""),
    (
        "x_sqlite_describe_table",
        "Get the schema information for a specific table",
        "table_name",
    ),
    (
        "x_memory_create_entities",
        "Create multiple new entities in the knowledge graph",
        "entities",
    ),
    (
        "x_memory_delete_entities",
        "Delete multiple entities and their associated relations from the knowledge graph",
        "entityNames",
    ),
    (
        "x_memory_search_nodes",
        "Search for nodes in the knowledge graph based on a query",
        "query",
    ),
    ("x_memory_read_graph", "Read the entire knowledge graph", ""),
    (
        "x_playwright_browser_click",
        "Perform click on a web page",
        "element ref doubleClick button",
    ),
    (
        "x_playwright_browser_take_screenshot",
        "Take a screenshot of the current page. You can't perform actions based on the screenshot, use browser_snapshot for actions.",
        "type filename fullPage",
    ),
    ("x_playwright_browser_navigate", "Navigate to a URL", "url"),
    ("x_playwright_browser_fill_form", "Fill multiple form fields", "fields"),
    (
        "x_playwright_browser_console_messages",
        "Returns all console messages",
        "onlyErrors",
    ),
];

#[test]
fn queries_over_tools_of_real_servers_have_their_heads() {
    let tools = REAL.iter().map(|(name, description, parameters)| {
        let parameters = parameters.split_whitespace().map(str::to_owned).collect();
        ((*name).to_owned(), (*description).to_owned(), parameters)
    });
    let corpus = Corpus { tools: tools.collect() };
    let cases: &[(&str, &[&str])] = &[
        ("edit a file", &["x_fs_edit_file"]),
        ("rename a file", &["x_fs_move_file"]),
        ("moving files", &["x_fs_move_file"]),
        ("overwrite file", &["x_fs_write_file"]),
        ("make a new directory", &["x_fs_create_directory"]),
        (
            "list directories",
            &["x_fs_list_directory", "x_fs_list_allowed_directories"],
        ),
        ("directory tree", &["x_fs_directory_tree"]),
        ("image", &["x_fs_read_media_file"]),
        ("file permissions", &["x_fs_get_file_info"]),
        ("search for files", &["x_fs_search_files"]),
        ("what is the current time", &["x_time_get_current_time"]),
        ("convert time zones", &["x_time_convert_time"]),
        ("commit my changes", &["x_git_commit"]),
        ("commit log", &["x_git_log"]),
        ("git history logs", &["x_git_log"]),
        ("staged changes", &["x_git_diff_staged"]),
        ("create a branch", &["x_git_create_branch"]),
        ("list branches", &["x_git_branch"]),
        ("switch to another branch", &["x_git_checkout"]),
        ("fetch a url", &["x_fetch_fetch"]),
        ("screenshot of a page", &["x_playwright_browser_take_screenshot"]),
        ("taking screenshots", &["x_playwright_browser_take_screenshot"]),
        ("click on a button", &["x_playwright_browser_click"]),
        ("fill in the form", &["x_playwright_browser_fill_form"]),
        ("console errors", &["x_playwright_browser_console_messages"]),
        ("database tables", &["x_sqlite_list_tables", "x_sqlite_create_table"]),
        ("schema of a table", &["x_sqlite_describe_table"]),
        ("delete entities", &["x_memory_delete_entities"]),
        ("read the knowledge graph", &["x_memory_read_graph"]),
        ("search nodes", &["x_memory_search_nodes"]),
        ("select query", &["x_sqlite_read_query"]),
        ("insert rows into the database", &["x_sqlite_write_query"]),
        ("full page", &["x_playwright_browser_take_screenshot"]),
        ("markdown", &["x_fetch_fetch"]),
        ("dry run", &["x_fs_edit_file"]),
        ("multiple files", &["x_fs_read_multiple_files"]),
        ("base64", &["x_fs_read_media_file"]),
    ];
    assert_heads(&corpus, cases.iter().map(|(query, wanted)| (*query, wanted.to_vec())));
}

#[test]
fn stems_bring_the_forms_of_a_word_together() {
    let families: &[&[&str]] = &[
        &["merge", "merges", "merged", "merging"],
        &["search", "searches", "searched", "searching"],
        &["create", "creates", "created", "creating"],
        &["delete", "deletes", "deleted", "deleting"],
        &["update", "updates", "updated", "updating"],
        &["list", "lists", "listed", "listing"],
        &["query", "queries", "queried", "querying"],
        &["scale", "scales", "scaled", "scaling"],
        &["file", "files", "filed", "filing"],
        &["run", "runs", "running"],
        &["stop", "stops", "stopped", "stopping"],
        &["box", "boxes", "boxed", "boxing"],
        &["branch", "branches"],
        &["cache", "caches", "cached", "caching"],
        &["process", "processes", "processed", "processing"],
        &["cancel", "cancels", "cancelled", "cancelling", "canceled"],
        &["add", "adds", "added", "adding"],
        &["note", "notes", "noted", "noting"],
        &["use", "uses", "used", "using"],
        &["status", "statuses"],
        &["pod", "pods"],
    ];
    for family in families {
        let stems: BTreeSet<String> = family.iter().map(|word| stem(word)).collect();
        assert_eq!(stems.len(), 1, "{family:?} gave {stems:?}");
    }
    for apart in [["note", "not"], ["string", "str"], ["king", "k"], ["need", "ne"]] {
        assert_ne!(stem(apart[0]), stem(apart[1]));
    }
}

#[test]
fn lists_of_words_are_sorted_for_their_lookup() {
    for word in ["a", "you", "the", "please", "what"] {
        assert!(is_stop_word(word), "{word}");
    }
    for word in ["add", "show", "write", "send", "get"] {
        assert!(is_common_verb(word), "{word}");
    }
    assert!(words::are_sorted());
}

#[test]
fn words_are_split_at_separators_case_and_digits() {
    let split = |text: &str| {
        let words: Vec<String> = words::words(text)
            .map(|w| format!("{}[{}]", w.whole, w.parts.join(" ")))
            .collect();
        words.join(" ")
    };
    let texts = [
        "x_k8s_get-pod.logs",
        "pullNumber",
        "HTTPServer2Config",
        "base64",
        "Größe ändern",
        "ÄpfelListe",
        "PromQL",
        "a/b c,d",
        "",
    ];
    let rows: Vec<String> = texts.iter().map(|text| format!("{text}: {}", split(text))).collect();
    expect_test::expect![[r#"
        x_k8s_get-pod.logs: x[] k8s[] get[] pod[] logs[]
        pullNumber: pullnumber[pull number]
        HTTPServer2Config: httpserver2config[http server config]
        base64: base64[base 64]
        Größe ändern: größe[] ändern[]
        ÄpfelListe: äpfelliste[äpfel liste]
        PromQL: promql[prom ql]
        a/b c,d: a[] b[] c[] d[]
        : "#]]
    .assert_eq(&rows.join("\n"));
}

proptest::proptest! {
    #[test]
    fn scores_are_the_same_each_time_and_sorted(query in ".{0,40}", names in proptest::collection::vec("[a-dA-D_0-9é]{0,12}", 0..12)) {
        let documents: Vec<Document<'_>> =
            names.iter().map(|name| Document { name, title: Some(name), description: name, parameters: &[], labels: &names }).collect();
        let (first, second) = (Index::build(&documents), Index::build(&documents));
        let hits = first.search(&query);
        proptest::prop_assert_eq!(&hits, &second.search(&query));
        for pair in hits.windows(2) {
            let ordered = pair[0].score > pair[1].score || (pair[0].score == pair[1].score && pair[0].document < pair[1].document);
            proptest::prop_assert!(ordered);
        }
        proptest::prop_assert!(hits.iter().all(|hit| hit.score > 0.0 && hit.score.is_finite() && hit.document < names.len()));
    }
}

#[test]
fn words_of_documents_that_stay_the_same_are_not_read_again() {
    let names: Vec<String> = (0..600).map(|number| format!("tool_{number}")).collect();
    let document = |name| Document {
        name,
        title: None,
        description: "",
        parameters: &[],
        labels: &[],
    };
    let groups = |few: &'static str| {
        let large: Vec<Document<'_>> = names.iter().map(|name| document(name.as_str())).collect();
        vec![
            Group {
                name: "few",
                documents: vec![document(few)],
            },
            Group {
                name: "many",
                documents: large,
            },
        ]
    };
    let (old, new) = (groups("one"), groups("two"));
    let before = Index::build_from(&old, &Index::default(), &[]);
    let after = Index::build_from(&new, &before, &old);
    let kept: Vec<bool> = before
        .segments
        .iter()
        .zip(&after.segments)
        .map(|(left, right)| Arc::ptr_eq(left, right))
        .collect();
    assert_eq!(kept, [false, true, true, true]);
    assert_eq!((before.search("two").len(), after.search("two").len()), (0, 1));
}
