//! A TCP listener whose connections can acknowledge every segment at once (Linux `TCP_QUICKACK`).

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};

pub(super) struct QuickAckListener {
    pub(super) inner: TcpListener,
    pub(super) quick_ack: bool,
}

impl Listener for QuickAckListener {
    type Io = QuickAckStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (QuickAckStream, SocketAddr) {
        let (inner, address) = Listener::accept(&mut self.inner).await;
        let stream = QuickAckStream { inner, quick_ack: self.quick_ack };
        stream.acknowledge();
        drop(stream.inner.set_nodelay(true));
        (stream, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.inner.local_addr()
    }
}

pub(super) struct QuickAckStream {
    inner: TcpStream,
    quick_ack: bool,
}

impl QuickAckStream {
    /// The kernel falls back to delayed ACKs by itself, so this is asked for after every read.
    fn acknowledge(&self) {
        #[cfg(target_os = "linux")]
        if self.quick_ack {
            let _ = rustix::net::sockopt::set_tcp_quickack(&self.inner, true);
        }
    }
}

impl AsyncRead for QuickAckStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.inner).poll_read(context, buffer);
        self.acknowledge();
        read
    }
}

impl AsyncWrite for QuickAckStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}
