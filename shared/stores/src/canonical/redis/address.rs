//! `redis://` and `rediss://` addresses: one server, a primary's endpoint, or several nodes of a cluster.

use redis::{ConnectionInfo, IntoConnectionInfo, TlsCertificates};
use url::Url;

use crate::AddressError;

/// Where the servers are. More than one means a cluster; a single one is asked.
#[derive(Clone)]
pub(super) struct Address {
    pub nodes: Vec<ConnectionInfo>,
    /// Of a private authority (`?ca=FILE`); else the public roots.
    pub root_certificate: Option<Vec<u8>>,
}

const VARIABLE: &str = "CANONICAL_STORE";
const FORM: &str = "it must look like rediss://[user:password@]host[:port][,host…][/db][?ca=FILE]";

/// Reads `redis[s]://[user:password@]host[:port][,host[:port]…][/db][?ca=FILE]`. Several hosts share the credentials.
pub(super) fn parse(text: &str) -> Result<Address, AddressError> {
    let invalid = || AddressError::Invalid { variable: VARIABLE, why: FORM };
    let (scheme, rest) = text.split_once("://").ok_or_else(invalid)?;
    let (authority, tail) = rest.find(['/', '?', '#']).map_or((rest, ""), |at| rest.split_at(at));
    let (credentials, hosts) =
        authority.rsplit_once('@').map_or((String::new(), authority), |(c, h)| (format!("{c}@"), h));
    let mut nodes = Vec::new();
    let mut root_certificate = None;
    for host in hosts.split(',') {
        let mut url = Url::parse(&format!("{scheme}://{credentials}{host}{tail}")).map_err(|_| invalid())?;
        for (name, value) in url.query_pairs() {
            if name != "ca" {
                return Err(invalid());
            }
            let unreadable =
                || AddressError::Invalid { variable: VARIABLE, why: "the file of ?ca= can't be read" };
            root_certificate = Some(std::fs::read(&*value).map_err(|_| unreadable())?);
        }
        url.set_query(None);
        if url.host_str().is_none_or(str::is_empty) || url.fragment().is_some() {
            return Err(invalid());
        }
        nodes.push(with_no_delay(url.into_connection_info().map_err(|_| invalid())?));
    }
    Ok(Address { nodes, root_certificate })
}

/// Small commands must not wait for each other's acknowledgements.
fn with_no_delay(info: ConnectionInfo) -> ConnectionInfo {
    let tcp = info.tcp_settings().clone().set_nodelay(true);
    let server = info.redis_settings().clone().set_skip_set_lib_name();
    info.set_tcp_settings(tcp).set_redis_settings(server)
}

impl Address {
    pub fn certificates(&self) -> Option<TlsCertificates> {
        self.root_certificate.clone().map(|root| TlsCertificates { client_tls: None, root_cert: Some(root) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes(text: &str) -> Vec<String> {
        let address = parse(text).map_err(|e| e.to_string()).unwrap();
        address.nodes.iter().map(|node| node.addr().to_string()).collect()
    }

    #[test]
    fn one_host_or_several_of_a_cluster() {
        assert_eq!(nodes("redis://h"), ["h:6379"]);
        assert_eq!(nodes("rediss://user:p%40ss@h:7000/2"), ["h:7000"]);
        assert_eq!(nodes("redis://:secret@a:1,b:2,c"), ["a:1", "b:2", "c:6379"]);
        let several = parse("redis://u:pw@a,b").map_err(|e| e.to_string()).unwrap();
        assert!(several.nodes.iter().all(|n| n.redis_settings().password() == Some("pw")));
        assert!(several.nodes.iter().all(|n| n.tcp_settings().nodelay()));
    }

    #[test]
    fn what_is_no_address_is_refused_without_repeating_it() {
        for text in [
            "redis://",
            "redis://:secret@",
            "redis://u:secret@h:port",
            "redis://h/secret",
            "redis://h?secret=1",
            "redis://h?ca=/no/such/secret.pem",
            "redis://a,,secret",
        ] {
            let Err(error) = parse(text) else { panic!("{text}") };
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }
}
