//! The word lists by which names are told from prose, one word after another.

/// Whether `list` has the word `word`.
pub(super) fn has(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|entry| entry == word)
}

/// Words with digits or humps that are everyday technical English.
pub(super) const EVERYDAY: &str = "
    k8s i18n http2 utf8 utf8mb4 utf-8 ipv4 ipv6 sha256 sha-256 md5 oauth2 x86 x64 arm64 b2b p2p e2e ec2
    mysql postgresql github gitlab javascript typescript devops cloudwatch dynamodb rabbitmq mongodb
    graphql opensearch elasticsearch websocket openai youtube linkedin mariadb influxdb innodb wifi
    wi-fi node.js next.js vue.js ctrl-c macos ios iphone saas paas iaas tcp/ip mvcc nosql 24x7
";

/// Error numbers, signals and DNS answers that are written in capitals without an underscore.
pub(super) const ERRNO: &str = "
    ECONNREFUSED ECONNRESET ECONNABORTED ETIMEDOUT EPIPE EACCES EPERM ENOENT ENOSPC ENOMEM EMFILE ENFILE
    EADDRINUSE EAGAIN EHOSTUNREACH ENETUNREACH ENOTFOUND EIO EINVAL EROFS SIGKILL SIGTERM SIGSEGV
    SIGABRT SIGBUS SIGINT SIGHUP NXDOMAIN SERVFAIL
";

/// Last words of service, host and resource names.
pub(super) const NAME_ENDS: &str = "
    service svc gateway api server worker proxy db cache queue job consumer producer scheduler
    controller manager backend frontend cluster topic prod staging canary primary replica master slave
    daemon agent exporter operator router broker store web app lambda function processor handler
    dispatcher sidecar ingress mysql redis kafka postgres nginx cron bucket core
";

/// First words that make an English compound of such a name ("cross-cluster").
pub(super) const COMPOUND_STARTS: &str = "
    non multi cross per in single self inter intra sub pre post re co read write high low micro dual
    first second third third-party down up client full same whole one two dead auto on off out over
    under work web serverless live long short large small new old each any all
";

/// First words behind whose hyphen an ordinary number starts ("top-10", "sub-100ms").
pub(super) const NUMBER_STARTS: &str = "
    top pre post sub non mid under over past sev step phase tier level stage day last first approx half
    multi to and or at by
";

/// Nouns whose count an incident report states; plural forms are derived.
pub(super) const COUNTED: &str = "
    time attempt pod host instance replica node row event error failure timeout request order connection
    thread message record line hit user alert restart call session job task partition shard service
    worker core lock deadlock exception payment customer item document match retry query entry
    transaction container server log qps tps rps rpm x fold
";
