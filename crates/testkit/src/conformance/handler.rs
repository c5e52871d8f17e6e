//! The `rmcp` server over the fixture's definitions and answers.

// Sampling, roots, logging and subscribe are deprecated by the newest revision, and still what legacy clients use.
#![expect(deprecated, reason = "the fixture serves the legacy revisions too")]

use std::borrow::Cow;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult, CompletionInfo,
    ErrorData, GetPromptRequestParams, GetPromptResponse, Implementation, InputRequest, InputRequests,
    InputRequiredResult, InputResponses, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, LoggingLevel, LoggingMessageNotificationParam, PaginatedRequestParams, ProgressNotificationParam,
    ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, ResourceUpdatedNotificationParam,
    ServerCapabilities, ServerConfig, SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, Tool,
    UnsubscribeRequestParams,
};
use rmcp::service::{Peer, RequestContext, ServiceError, SubscriptionContext};
use rmcp::{RoleServer, ServerHandler};
use serde_json::{Value, json};

use super::asking::{self, Given, Step};
use super::changes::{Change, WATCHED};
use super::{Fixture, content, prompts, resources};

/// The pause between the reports of one call: the suite wants to see them apart.
const PAUSE: Duration = Duration::from_millis(50);

impl ServerHandler for Fixture {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_logging()
            .enable_completions()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new(
                "countersign-conformance-upstream",
                env!("CARGO_PKG_VERSION"),
            ))
            .with_instructions("The upstream of the conformance suite")
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        self.0.era.versions()
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let changing = self.0.changes.tool_listed();
        let tools = self
            .0
            .definitions
            .tools
            .iter()
            .filter(|tool| changing || tool.name != "test_changing_tool");
        Ok(ListToolsResult::with_all_items(tools.cloned().collect()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.0.definitions.tools.iter().find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let name = params.name.as_ref();
        if let Some(fixed) = content::fixed(name) {
            return fixed.map(CallToolResponse::from);
        }
        match name {
            "test_tool_with_logging" => self.logging(&cx).await.map(CallToolResponse::from),
            "test_logging_tool" => {
                self.log(&cx, "One line").await;
                content::text("Logged, if asked").map(CallToolResponse::from)
            }
            "test_tool_with_progress" => progress(&cx).await.map(CallToolResponse::from),
            "test_reconnection" => {
                tokio::time::sleep(PAUSE * 2).await;
                content::text("Reconnection test completed").map(CallToolResponse::from)
            }
            "test_trigger_tool_change" => self.change(Change::Tools, &cx).await.map(CallToolResponse::from),
            "test_trigger_prompt_change" => self.change(Change::Prompts, &cx).await.map(CallToolResponse::from),
            "test_trigger_resource_update" => self.change(Change::Watched, &cx).await.map(CallToolResponse::from),
            _ => self.asking_tool(params, &cx).await,
        }
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(
            self.0.definitions.resources.clone(),
        ))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(
            self.0.definitions.resource_templates.clone(),
        ))
    }

    async fn read_resource(
        &self,
        params: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        resources::contents(&params.uri).map(ReadResourceResponse::from)
    }

    async fn subscribe(&self, _: SubscribeRequestParams, _: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn unsubscribe(&self, _: UnsubscribeRequestParams, _: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let changing = self.0.changes.prompt_listed();
        let prompts = self
            .0
            .definitions
            .prompts
            .iter()
            .filter(|prompt| changing || prompt.name != "test_changing_prompt");
        Ok(ListPromptsResult::with_all_items(prompts.cloned().collect()))
    }

    async fn get_prompt(
        &self,
        params: GetPromptRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let arguments = params.arguments.unwrap_or_default();
        if params.name != "test_input_required_result_prompt" {
            return prompts::messages(&params.name, &arguments).map(GetPromptResponse::from);
        }
        let mut answers = params.input_responses.unwrap_or_default();
        loop {
            match asking::prompt_context(&answers)? {
                Ok(context) => {
                    let block = json!({"type": "text", "text": format!("In the context of {context}")});
                    return prompts::user(&[block]).map(GetPromptResponse::from);
                }
                Err(questions) if modern(&cx) => {
                    return Ok(InputRequiredResult::from_input_requests(questions).into());
                }
                Err(questions) => {
                    answers = put(&cx.peer, questions)
                        .await
                        .map_err(|e| ErrorData::internal_error(e.to_string(), None))?;
                }
            }
        }
    }

    async fn complete(
        &self,
        params: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let all = ["paris", "park", "party", "testing"];
        let values = all
            .iter()
            .filter(|word| word.starts_with(&params.argument.value))
            .map(|&word| word.to_owned());
        let info = CompletionInfo::with_all_values(values.collect())
            .map_err(|error| ErrorData::internal_error(error, None))?;
        Ok(CompleteResult::new(info))
    }

    async fn set_level(&self, params: SetLevelRequestParams, _: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        let quiet = !matches!(params.level, LoggingLevel::Debug | LoggingLevel::Info);
        self.0.logs_off.store(quiet, Ordering::SeqCst);
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Result<(), ErrorData> {
        let mut changes = self.0.changes.listen();
        loop {
            let change = tokio::select! {
                () = subscription.cancelled() => return Ok(()),
                change = changes.recv() => change,
            };
            let Ok(change) = change else { continue };
            let accepted = subscription.accepted();
            let sink = subscription.sink();
            let wants_watched = accepted
                .resource_subscriptions
                .iter()
                .flatten()
                .any(|uri| uri == WATCHED);
            let sent = match change {
                Change::Tools if accepted.tools_list_changed == Some(true) => sink.notify_tool_list_changed().await,
                Change::Prompts if accepted.prompts_list_changed == Some(true) => {
                    sink.notify_prompt_list_changed().await
                }
                Change::Watched if wants_watched => sink.notify_resource_updated(WATCHED).await,
                Change::Tools | Change::Prompts | Change::Watched => Ok(()),
            };
            if sent.is_err() {
                return Ok(());
            }
        }
    }
}

impl Fixture {
    async fn asking_tool(
        &self,
        params: CallToolRequestParams,
        cx: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = params.arguments.unwrap_or_default();
        let abilities = cx.client_capabilities().unwrap_or_default();
        let mut answers = params.input_responses.unwrap_or_default();
        let mut state = params.request_state;
        loop {
            let given = Given {
                arguments: &arguments,
                answers: &answers,
                state: state.as_deref(),
                abilities: &abilities,
                states: &self.0.states,
            };
            let Some(step) = asking::step(&params.name, &given) else {
                return Err(ErrorData::invalid_params(
                    format!("unknown tool `{}`", params.name),
                    None,
                ));
            };
            match step? {
                Step::Done(result) => return Ok(result.into()),
                Step::Ask(questions, state) if modern(cx) => {
                    return Ok(InputRequiredResult::new(Some(questions), state).into());
                }
                Step::Ask(questions, next) => match put(&cx.peer, questions).await {
                    Ok(got) => (answers, state) = (got, next),
                    Err(error) => {
                        return content::failure(&format!("the client did not answer: {error}")).map(Into::into);
                    }
                },
            }
        }
    }

    async fn logging(&self, cx: &RequestContext<RoleServer>) -> Result<CallToolResult, ErrorData> {
        for line in [
            "Tool execution started",
            "Tool processing data",
            "Tool execution completed",
        ] {
            self.log(cx, line).await;
            tokio::time::sleep(PAUSE).await;
        }
        content::text("Logging test completed")
    }

    /// Logs at level info, if this caller wants such lines: a modern one says so in the request, a legacy one for its session.
    async fn log(&self, cx: &RequestContext<RoleServer>, line: &str) {
        let wanted = if modern(cx) {
            matches!(cx.meta.log_level(), Some(LoggingLevel::Debug | LoggingLevel::Info))
        } else {
            !self.0.logs_off.load(Ordering::SeqCst)
        };
        if wanted {
            let param = LoggingMessageNotificationParam::new(LoggingLevel::Info, json!(line))
                .with_logger("conformance-upstream");
            // A client that is gone needs no log.
            drop(cx.peer.notify_logging_message(param).await);
        }
    }

    async fn change(&self, change: Change, cx: &RequestContext<RoleServer>) -> Result<CallToolResult, ErrorData> {
        self.0.changes.make(change);
        if !modern(cx) {
            let told = match change {
                Change::Tools => cx.peer.notify_tool_list_changed().await,
                Change::Prompts => cx.peer.notify_prompt_list_changed().await,
                Change::Watched => {
                    cx.peer
                        .notify_resource_updated(ResourceUpdatedNotificationParam::new(WATCHED))
                        .await
                }
            };
            told.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        }
        content::text("Changed")
    }
}

/// Does this request follow the stateless revision?
fn modern(cx: &RequestContext<RoleServer>) -> bool {
    cx.protocol_version()
        .is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}

async fn progress(cx: &RequestContext<RoleServer>) -> Result<CallToolResult, ErrorData> {
    for done in [0.0, 50.0, 100.0] {
        if let Some(token) = cx.meta.get_progress_token() {
            let param = ProgressNotificationParam::new(token, done)
                .with_total(100.0)
                .with_message(format!("{done} of 100"));
            drop(cx.peer.notify_progress(param).await);
        }
        tokio::time::sleep(PAUSE).await;
    }
    content::text("Progress test completed")
}

/// Puts the questions to a legacy client, one after the other.
async fn put(peer: &Peer<RoleServer>, questions: InputRequests) -> Result<InputResponses, ServiceError> {
    let mut answers = InputResponses::new();
    for (key, question) in questions {
        let answer = match question {
            InputRequest::CreateMessage(request) => as_json(&peer.create_message(request.params).await?),
            InputRequest::Elicitation(request) => as_json(&peer.create_elicitation(request.params).await?),
            InputRequest::ListRoots(_) => as_json(&peer.list_roots().await?),
            _ => Value::Null,
        };
        answers.insert(key, answer);
    }
    Ok(answers)
}

fn as_json<T: serde::Serialize>(value: &T) -> Value {
    serde_json::to_value(value).unwrap_or(Value::Null)
}
