//! The client as a program, against a scripted service: what it sends, what it prints, how it exits.

#[cfg(test)]
mod ask;
#[cfg(test)]
mod docs;
#[cfg(test)]
mod others;
#[cfg(test)]
mod server;
#[cfg(test)]
mod trouble;
