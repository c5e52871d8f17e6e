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

fn assert_head(corpus: &Corpus, index: &Index, query: &str, wanted: &[&str]) {
    let found = corpus.found(index, query);
    let mut head: Vec<&str> = found.iter().take(wanted.len()).map(|(name, _)| name.as_str()).collect();
    head.sort_unstable();
    let mut wanted = wanted.to_vec();
    wanted.sort_unstable();
    assert_eq!(head, wanted, "query `{query}` gave {:#?}", &found[..found.len().min(6)]);
}

#[test]
fn pinned_cases_have_their_heads() {
    let (corpus, cases) = Corpus::pinned();
    let index = corpus.index();
    for case in cases.as_array().unwrap() {
        let wanted: Vec<&str> = case["first"]
            .as_array()
            .unwrap()
            .iter()
            .map(|name| name.as_str().unwrap())
            .collect();
        assert_head(&corpus, &index, case["query"].as_str().unwrap(), &wanted);
    }
}

#[test]
fn other_queries_over_the_same_tools_have_their_heads() {
    let (corpus, _) = Corpus::pinned();
    let index = corpus.index();
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
    for (query, wanted) in cases {
        assert_head(&corpus, &index, query, wanted);
    }
}
