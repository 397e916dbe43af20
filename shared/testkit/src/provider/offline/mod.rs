//! A model that works by rules: no network, no weights, no clock, and no knowledge of any scenario.
//!
//! It reads what it is sent as a model would (the prompt's role, the tools' descriptions, the tools' results)
//! and answers in the same formats. So a demo and the scenario tests exercise the whole product without a
//! provider. It is no judge of quality: it names what it saw, in the order it began, and says that it is a
//! demo.

mod about;
mod catalog;
mod clock_words;
mod knowledge;
mod phrases;
mod plan;
mod report;
mod review;
mod route;
mod signs;
mod transcript;
mod words;

use std::io;
use std::sync::Arc;

use domain::model::Role;
use serde_json::{Value, json};

use super::persona::Persona;
use super::reply::Reply;
use super::request::Received;
use super::server::ModelServer;

/// The name under which its replies come, so that no ledger or report can take it for a real model.
pub const MODEL_NAME: &str = "superbiz-offline-demo";

/// The offline model as a server on loopback: `port`, or a free one if that is 0. It keeps nothing it was
/// sent.
pub async fn serve(port: u16) -> io::Result<ModelServer> {
    ModelServer::start(port, Persona::Plain, Arc::new(answer)).await
}

/// The reply to one request.
pub fn answer(request: &Received) -> Reply {
    let input = request.opening();
    let reply = match request.role {
        Some(Role::Route) => Reply::json(&json!({ "intent": route::intent(&input).as_str() })),
        Some(Role::Diagnose) => diagnose(request, &input),
        Some(Role::Repair) => repair(&input),
        Some(Role::Review) => Reply::json(&review::verdict(&input)),
        Some(Role::Knowledge) => Reply::json(&knowledge::answer(&input)),
        Some(Role::System) => Reply::text(about::introduction(&input, &request.system)),
        None => Reply::status(400, r#"{"error":{"message":"the system prompt names no role of superbiz"}}"#),
    };
    reply.from_model(MODEL_NAME)
}

fn diagnose(request: &Received, input: &Value) -> Reply {
    let transcript = transcript::Transcript::read(request);
    let case = plan::Case::of(input, request);
    if !request.tools_withheld() {
        let calls = plan::next_calls(&case, &transcript);
        if !calls.is_empty() {
            return Reply::calls(calls);
        }
    }
    let draft = report::draft(&case, &transcript);
    serde_json::to_value(draft).map_or_else(|_| Reply::text(""), |draft| Reply::json(&draft))
}

/// It cites only ids that it was given, so there is nothing it would correct: the draft comes back as it was.
fn repair(input: &Value) -> Reply {
    Reply::json(&input["draft"])
}

#[cfg(test)]
mod tests;
