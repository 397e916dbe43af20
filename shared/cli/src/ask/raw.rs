//! The event stream as it comes, for people who want to see the protocol.

use super::follow::{Ended, event_stream};
use crate::client::Api;
use crate::exit::{Exit, Fault};
use crate::plain::strip;
use crate::screen::Screen;
use crate::sse::Decoder;

/// Prints the stream; `known` learns of the run as it goes.
pub async fn print(
    api: &Api,
    body: &str,
    key: &str,
    screen: Screen,
    known: &mut Ended,
) -> Result<Exit, Fault> {
    let response = api.chat(body, key).await?;
    let mut response = event_stream(api, response).await?;
    let (mut decoder, mut line) = (Decoder::default(), Vec::new());
    while let Some(chunk) = response.chunk().await.map_err(|error| api.lost(error))? {
        if screen.out_is_terminal {
            line.extend_from_slice(&chunk);
            screen.print(&whole_lines(&mut line))?;
        } else {
            screen.bytes(&chunk)?;
        }
        let events =
            decoder.push(&chunk).map_err(|_| Fault::broken("the event stream has an endless line"))?;
        for event in events {
            if known.take(&event, None)? {
                return Ok(known.exit());
            }
        }
    }
    Err(Fault::broken("the event stream ended without `done`"))
}

/// Takes the whole lines out of what has come, without what could drive the terminal.
fn whole_lines(come: &mut Vec<u8>) -> String {
    let end = come.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let lines: Vec<u8> = come.drain(..end).collect();
    strip(&String::from_utf8_lossy(&lines))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_whole_and_plain() {
        let mut come = "data: 支\u{9b}付\n\nid: \u{1b}[2J1".as_bytes().to_vec();
        assert_eq!(whole_lines(&mut come), "data: 支付\n\n");
        come.push(b'\n');
        assert_eq!(whole_lines(&mut come), "id: 1\n");
        assert_eq!(whole_lines(&mut come), "");
    }
}
