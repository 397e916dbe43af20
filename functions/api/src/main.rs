//! The api function: the buffered JSON endpoints and the web page.

mod documents;
mod feedback;
mod handler;
mod health;
mod keys;
mod openapi;
mod page;
mod quality;
mod routes;
mod runs;

use app::{App, Config, Needs};
use lambda_http::{Request, run, service_fn};

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    app::telemetry::init();
    let config = app::secrets::resolve(Config::from_env(Needs::API)?).await?;
    let app = App::api(&config)?;
    let app = &app;
    let handle = move |request: Request| async move {
        Ok::<_, std::convert::Infallible>(handler::handle(app, &request).await)
    };
    run(service_fn(handle)).await.map_err(anyhow::Error::from_boxed)
}
