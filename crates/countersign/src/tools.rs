//! `countersign tools`: an MCP client for the gateway itself.

mod client;
mod show;
mod target;

use serde_json::value::RawValue;

use countersign_wire::object::{Object, quote};

use crate::args::Tools;
use crate::failure::Failure;
use crate::out::{self, Format};
use client::{Client, Refused};

/// Runs one of the commands.
pub(crate) async fn run(command: Tools, format: Format) -> Result<(), Failure> {
    match command {
        Tools::List { target } => {
            let tools = Client::new(target::url(target)?)?.tools().await?;
            let json = joined(&tools);
            out::emit(format, &json, || show::list(&tools))
        }
        Tools::Describe { name, target } => {
            let tools = Client::new(target::url(target)?)?.tools().await?;
            let tool = tools
                .iter()
                .find(|tool| show::text_of(tool.get(), "name").as_deref() == Some(&name));
            let tool = tool.ok_or_else(|| unknown(&name))?;
            out::emit(format, tool.get(), || show::describe(tool.get()))
        }
        Tools::Call { name, args, target } => {
            // A list or a number would be refused by the gateway too; here the sentence can name the flag.
            if let Err(error) = Object::parse(&args) {
                return Err(Failure::configuration(
                    format_args!("--args is not usable: {error}"),
                    "give a JSON object: --args '{\"name\": \"value\"}'",
                ));
            }
            let client = Client::new(target::url(target)?)?;
            call(&client, &name, &args, format).await
        }
    }
}

async fn call(client: &Client, name: &str, arguments: &str, format: Format) -> Result<(), Failure> {
    let result = match client.call(name, arguments).await {
        Ok(result) => result,
        Err(Refused::Answered { code, message }) if message.contains(name) => {
            return Err(Failure::failed(
                format_args!("{} (code {code})", out::harmless(&message)),
                "`countersign tools list` shows what there is",
            ));
        }
        Err(refused) => return Err(refused.into()),
    };
    let failed = Object::parse(result.get())
        .is_ok_and(|object| object.get("isError").is_some_and(|value| value.get() == "true"));
    out::emit(format, result.get(), || show::result(result.get()))?;
    if failed { Err(Failure::Silent(1)) } else { Ok(()) }
}

fn unknown(name: &str) -> Failure {
    Failure::failed(
        format_args!("tool not found: `{name}`"),
        "`countersign tools list` shows what there is",
    )
}

/// The definitions as one JSON array, each byte for byte.
fn joined(tools: &[Box<RawValue>]) -> String {
    let texts: Vec<&str> = tools.iter().map(|tool| tool.get()).collect();
    format!("[{}]", texts.join(","))
}

/// An object of raw members.
fn object(members: &[(&str, &str)]) -> String {
    let members: Vec<String> = members
        .iter()
        .map(|(name, value)| format!("{}:{value}", quote(name)))
        .collect();
    format!("{{{}}}", members.join(","))
}

#[cfg(test)]
mod tests;
