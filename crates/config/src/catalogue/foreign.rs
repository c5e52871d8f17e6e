//! Keys that other clients write: known, so that their files load, and named, so that nobody relies on them.

/// Keys beside the server list.
const FILE_KEYS: &[&str] = &[
    "$schema",
    "defaults",
    "description",
    "gallery",
    "globalShortcut",
    "inputs",
    "isDxtAutoUpdatesEnabled",
    "isUsingBuiltInNodeForMcp",
    "preferences",
    "sandbox",
    "scale",
    "theme",
];

/// Keys of a server that have no meaning here.
const SERVER_KEYS: &[&str] = &[
    "$schema",
    "alwaysAllow",
    "alwaysLoad",
    "author",
    "autoApprove",
    "comment",
    "configSchema",
    "dev",
    "disabled",
    "displayName",
    "enabled",
    "envFile",
    "eventSourceInit",
    "fromGalleryId",
    "gallery",
    "headersHelper",
    "homepage",
    "icon",
    "iconUrl",
    "icons",
    "id",
    "installed",
    "instructions",
    "isActive",
    "isBuiltIn",
    "license",
    "logoUrl",
    "longRunning",
    "name",
    "note",
    "notes",
    "oauth",
    "preset",
    "provider",
    "providerUrl",
    "registryUrl",
    "reference",
    "repository",
    "requestInit",
    "restart",
    "sandbox",
    "sandboxEnabled",
    "settings",
    "source",
    "startup_timeout_ms",
    "startup_timeout_sec",
    "tags",
    "title",
    "tool_timeout_sec",
    "trust",
    "version",
    "watchPaths",
];

/// Keys by which other clients leave tools out.
const TOOL_CHOICES: &[&str] = &[
    "allowedTools",
    "disabledTools",
    "enabledTools",
    "excludeTools",
    "includeTools",
    "tools",
];

/// Whether another client writes that key beside its server list. A leading `_` or `//` marks a comment.
pub(crate) fn is_file_key(key: &str) -> bool {
    FILE_KEYS.contains(&key) || is_comment(key)
}

/// What to tell the operator of another client's key in a server's entry, when it is one.
pub(crate) fn warning(key: &str) -> Option<&'static str> {
    if TOOL_CHOICES.contains(&key) {
        Some("is another client's key and is not used here: every tool of the server is served")
    } else if SERVER_KEYS.contains(&key) || is_comment(key) {
        Some("is another client's key and is not used here")
    } else {
        None
    }
}

/// Our key for what another client calls differently. Its value is needed, so it is no warning.
pub(crate) fn our_key(key: &str) -> Option<&'static str> {
    match key {
        "serverUrl" | "httpUrl" | "endpoint" | "uri" | "baseUrl" => Some("url"),
        "cmd" | "executable" => Some("command"),
        "environment" => Some("env"),
        "workingDirectory" | "working_directory" | "workdir" => Some("cwd"),
        "http_headers" => Some("headers"),
        _ => None,
    }
}

fn is_comment(key: &str) -> bool {
    key.starts_with('_') || key.starts_with("//") || key == "#"
}
