//! The chat function: `POST /api/chat` answered as a stream of server-sent events.

mod body;
mod handler;
mod sse;

use app::{App, Config, Needs};
use lambda_http::{Request, run_with_streaming_response, service_fn};

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    app::telemetry::init();
    let config = app::secrets::resolve(Config::from_env(Needs::CHAT)?).await?;
    let app = App::chat(&config)?;
    let app = &app;
    let handle = move |request: Request| async move {
        Ok::<_, std::convert::Infallible>(handler::handle(app, request).await)
    };
    run_with_streaming_response(service_fn(handle)).await.map_err(anyhow::Error::from_boxed)
}
