//! Why a request failed, from below all the errors that wrap the reason.

use std::error::Error as _;

/// The innermost cause: the outer ones say only that a request failed.
pub fn root_cause(error: &reqwest::Error) -> String {
    // The outermost one's own text may repeat the address, with what is secret in it.
    causes(error).last().map_or_else(|| "the request failed".to_owned(), |cause| cause.to_string())
}

/// The other side closed the connection in the middle of a handshake.
pub fn hung_up(error: &reqwest::Error) -> bool {
    let io = causes(error).into_iter().filter_map(|cause| cause.downcast_ref::<std::io::Error>());
    io.map(std::io::Error::kind).any(|kind| kind == std::io::ErrorKind::UnexpectedEof)
}

/// What TLS says is wrong.
pub fn tls_cause(error: &reqwest::Error) -> Option<&rustls::Error> {
    causes(error).into_iter().find_map(|cause| cause.downcast_ref())
}

/// Everything below an error. An IO error's `source` skips the very error that it wraps.
fn causes(error: &reqwest::Error) -> Vec<&(dyn std::error::Error + 'static)> {
    let mut causes = Vec::new();
    let mut next = error.source();
    while let Some(cause) = next {
        causes.push(cause);
        let wrapped = cause.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        next = match wrapped {
            Some(wrapped) => Some(wrapped as &(dyn std::error::Error + 'static)),
            None => cause.source(),
        };
    }
    causes
}
