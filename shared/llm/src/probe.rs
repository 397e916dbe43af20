//! Whether a provider can be used as it is configured: one tiny call, and what came of it in words that an operator can
//! act on. Nothing of what the provider said is in them.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use agent::ports::{Message, ModelRequest, ToolChoice};
use domain::model::{ModelFault, Role};

/// Why a provider can't be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    #[error("the host's name can't be resolved: check the base URL, and the network's DNS")]
    UnknownHost,
    #[error(
        "the host refuses connections or can't be reached: check the base URL's host and port, and the network's routes"
    )]
    Unreachable,
    #[error(
        "no trusted TLS connection: the server speaks no TLS there, or its certificate isn't valid for this host"
    )]
    Tls,
    #[error("the server accepted the request and did not answer in time")]
    Silent,
    #[error("the connection broke while the server answered")]
    Broken,
    #[error("the provider refused the API key: it is missing, wrong, expired, or may not use this model")]
    Key,
    #[error("the provider doesn't know the model: check MODEL_NAME's spelling")]
    Model,
    #[error("the account has no quota or credit left")]
    Quota,
    #[error("the provider is overloaded or limits the rate; it may be well in a moment")]
    Busy,
    #[error("the provider failed with a server error; it may be well in a moment")]
    Failing,
    #[error(
        "something answers there that isn't this API: check that the base URL ends before /chat/completions or /messages, and MODEL_WIRE"
    )]
    NotThisApi,
}

/// The smallest request there is, in the role that has no tools and no schema.
pub(crate) fn request(timeout: Duration) -> ModelRequest {
    ModelRequest {
        role: Role::System,
        system: Arc::from("superbiz/system\nAnswer with one word."),
        messages: vec![Message::User { text: "ping".to_owned() }],
        tools: Arc::new([]),
        tool_choice: ToolChoice::Auto,
        response_schema: None,
        max_output_tokens: 16,
        timeout,
        provider: None,
    }
}

/// What a fault of that request says; `None` if the provider did answer, however well.
pub(crate) fn trouble(fault: ModelFault) -> Option<Trouble> {
    Some(match fault {
        ModelFault::Auth => Trouble::Key,
        ModelFault::UnknownModel => Trouble::Model,
        ModelFault::Quota => Trouble::Quota,
        ModelFault::RateLimited | ModelFault::Overloaded => Trouble::Busy,
        ModelFault::ServerError => Trouble::Failing,
        ModelFault::Timeout => Trouble::Silent,
        ModelFault::Transport => Trouble::Broken,
        ModelFault::BadRequest | ModelFault::ParseError => Trouble::NotThisApi,
        // A refusal, a filter, or an answer cut at our own limit are answers.
        _ => return None,
    })
}

/// Why no connection came to be, by the layers of the error.
pub(crate) fn of_connection(error: &(dyn Error + 'static)) -> Trouble {
    let mut layer = Some(error);
    while let Some(error) = layer {
        if error.is::<rustls::Error>() {
            return Trouble::Tls;
        }
        // The resolver's error has no public type; this is the name of its layer.
        if error.to_string().starts_with("dns error") {
            return Trouble::UnknownHost;
        }
        // An IO error hides the error it was made of from `source`.
        let hidden = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        layer = hidden.map(|hidden| hidden as &(dyn Error + 'static)).or_else(|| error.source());
    }
    Trouble::Unreachable
}
