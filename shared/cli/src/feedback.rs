//! `feedback`: what a person says of a run that has ended.

use reqwest::Method;
use serde_json::json;

use crate::args::{Feedback, Rating};
use crate::client::Api;
use crate::exit::{Exit, Fault};
use crate::plain::one_line;
use crate::screen::Screen;

pub async fn run(api: &Api, feedback: &Feedback, screen: Screen) -> Result<Exit, Fault> {
    let rating = match feedback.rating {
        Rating::Up => "UP",
        Rating::Down => "DOWN",
    };
    let mut body = json!({ "rating": rating });
    // The service wants codes such as WRONG_CAUSE; people type wrong-cause.
    let reason =
        feedback.reason.as_ref().map(|reason| reason.trim().to_ascii_uppercase().replace(['-', ' '], "_"));
    for (name, value) in [("reason", reason), ("comment", feedback.comment.clone())] {
        if let (Some(value), Some(fields)) = (value, body.as_object_mut()) {
            fields.insert(name.to_owned(), value.into());
        }
    }
    let said = api.send(Method::POST, api.of_run(&feedback.run, &["feedback"]), Some(&body)).await?;
    if screen.json {
        screen.document(&said)?;
    } else {
        screen.print(&format!("recorded: {rating} for run {}\n", one_line(&feedback.run)))?;
    }
    Ok(Exit::Success)
}
