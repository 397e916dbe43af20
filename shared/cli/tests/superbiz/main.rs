//! The client as a program, against a scripted service: what it sends, what it prints, how it exits.

mod ask;
mod docs;
mod others;
mod server;
