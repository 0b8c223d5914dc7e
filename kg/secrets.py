"""What counts as a credential, where in a text one stands, and how it is taken out.

Two scanners are joined: `redact-secret` (Rust; exact pin, because it is a beta) and the
tables below: what it misses, and the commonest formats again. Only this module knows them, a
placeholder from a value, and what of redact-secret's findings count: any action it proposes,
but its guesses from context only if they pass our own judgement. Personal data is no secret.

There is no entropy rule: it flags 191 of 200 benign lines of a developer's day (hashes,
digests, ids). Known to be missed: passwords that are bare words ("password=swordfish") or
numbers, as nothing tells them from prose.

Every step is linear in the text: rules start at a literal, their quantifiers are bounded or
start at a boundary, and redact-secret sees a window at a time. 50 MB of logs cost 6 to 10 s
(again for each round that finds something), the worst repetitions some 7 s a megabyte.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

from kg.errors import SecretError, StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator

    Span = tuple[int, int, str]


class Finding(NamedTuple):
    """Where a credential stands: `line` from 1 (LF alone), `kind`, code points start to end."""

    line: int
    kind: str
    start: int
    end: int


# -- formats ---------------------------------------------------------------------------------
# One a line: kind, literals it may start with, pattern of what follows (its group, if any, is
# the secret; else both ends stand at a boundary). Sources: vendors' pages, gitleaks' rules (MIT).
_TABLE = r"""
github-token ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ \w{36,251}
gitlab-token glpat- gldt- glrt- glrtr- glptt- glft- [\w-]{20,128}(?:\.[\w.]{2,32})?
gitlab-token GR1348941 glimt- glagent- glsoat- gloas- glcbt- glffct- [\w-]{20,128}(?:\.[\w.]{2,32})?
npm-token npm_ [A-Za-z0-9]{36}
pypi-token pypi-AgE [\w-]{50,1000}
slack-token xoxa- xoxb- xoxp- xoxr- xoxs- xoxe.xoxp- xoxe.xoxb- (?=[a-z-]{0,20}\d)[\w-]{10,250}
slack-webhook hooks.slack.com/ (?:services|workflows|triggers)/(\w{6,16}(?:/\w{6,64}){2,3})
discord-webhook discord.com/api/ discordapp.com/api/ webhooks/\d{17,20}/([\w-]{60,80})
stripe-key sk_live_ sk_test_ rk_live_ rk_test_ sk_prod_ [A-Za-z0-9]{16,247}
openai-key sk-proj- sk-svcacct- sk-admin- sk-None- [\w-]{20,250}
openai-key sk- [A-Za-z0-9]{20}(?:T3BlbkFJ[A-Za-z0-9]{20}|[A-Za-z0-9]{28})
anthropic-key sk-ant- [a-z0-9]{2,12}-[\w-]{40,200}
hugging-face-token hf_ api_org_ [A-Za-z0-9]{34}
google-api-key AIza [\w-]{35}
google-oauth-token ya29. 1//0 [\w-]{40,1000}
shopify-token shpat_ shpca_ shppa_ shpss_ shpua_ [a-fA-F0-9]{32}
terraform-token .atlasv1. (?<=[A-Za-z0-9]{14}\.atlasv1\.)([\w=-]{60,70})
aws-access-key AKIA ASIA ABIA ACCA [A-Z2-7]{16}
azure-storage-key AccountKey= SharedAccessKey= ([A-Za-z0-9+/]{42,86}={1,2})
azure-sas ?sig= &sig= ;sig= ([A-Za-z0-9%+/]{40,140}={0,2})
mailgun-key key- [0-9a-f]{32}
sendgrid-key SG. [\w-]{16,32}\.[\w-]{16,64}
twilio-key SK [0-9a-f]{32}
cloudflare-key v1.0- cfut_ cfat_ cfk_ [\w-]{40,180}
tailscale-key tskey- [a-z]{3,12}-\w{8,32}-\w{16,64}
square-token sq0atp- [\w-]{22}
brevo-key xkeysib- xsmtpsib- [a-f0-9]{64}-[A-Za-z0-9]{16}
planetscale-token pscale_tkn_ pscale_oauth_ pscale_pw_ [\w=.-]{32,64}
dropbox-token sl. [\w-]{130,152}
artifactory-token AKCp [A-Za-z0-9]{69}
vault-token hvs. hvb. hvr. [\w-]{24,300}
bitbucket-token ATBB [A-Za-z0-9]{32}
notion-token ntn_ [A-Za-z0-9]{43,50}
notion-token secret_ (?=[a-z]{0,42}[A-Z0-9])[A-Za-z0-9]{43}
figma-token figd_ figo_ [\w-]{38,64}
airtable-token pat [A-Za-z0-9]{14}\.[a-f0-9]{64}
new-relic-key NRAK- NRII- NRIQ- [\w-]{27,36}
age-key AGE-SECRET-KEY-1 [02-9AC-HJ-NP-Z]{58}
jwt eyJ [\w-]{10,4000}\.eyJ[\w-]{5,8000}\.[\w-]{10,2000}
password-hash $2a$ $2b$ $2y$ $apr1$ $1$ $5$ $6$ $y$ $argon2i$ $argon2id$ [\w./$=,+]{25,400}
password-hash {SHA} {SSHA} [A-Za-z0-9+/]{27,44}={0,2}
"""
_FORMATS = [row.split() for row in _TABLE.strip().splitlines()]
# A token may follow an escape of JSON or of a URL, or a terminal's colour, without a space.
_LEFT = r"(?:(?<![A-Za-z0-9]@)|(?<=\\[nrtbf]@)|(?<=%[0-9A-Fa-f]{2}@)|(?<=\dm@))"

# -- places: what stands here is a secret whatever it looks like ------------------------------
# Matched on the text in lower case; the last group is the secret.
_QUOTE = r"\\{0,3}[\"'`]"
_HEADER = rf"(?:{_QUOTE})?[\])]?[ \t]{{0,4}}[:=][ \t]{{0,4}}(?:{_QUOTE})?"
_SCHEMES = r"(?:bearer|token|bot|api-?key|digest|splunk)[ \t]{1,4}"
_WORD = r"([^\s\"'`\\]{4,256})"
_PLACES = (
    ("authorization", "authorization", rf"{_HEADER}(?:{_SCHEMES})?([\w.~+/:=-]{{8,4000}})"),
    ("basic-auth", "authorization", rf"{_HEADER}basic[ \t]{{1,4}}([\w+/=-]{{8,4000}})"),
    ("authorization", "bearer ", r"([\w.~+/=-]{16,4000})"),
    ("url-password", "://", r"[^\s/:@\"'<>?#\\]{0,80}:([^\s/@\"'<>?#\\]{1,256})@(?=[\w\[])"),
    ("url-password", "://", r"([^\s/:@\"'<>?#\\]{16,256})@(?=\w)"),
    (
        "password",
        "-u",
        rf"(?<!\w-u)(?:ser)?[ \t=]{{0,4}}(?:{_QUOTE})?[^\s:\"'`$/-]{{1,80}}:{_WORD}",
    ),
    ("password", "mysql", rf"[^\n]{{0,120}}?[ \t]-p{_WORD}"),
    ("password", "sshpass ", rf"-p[ \t]?(?:{_QUOTE})?{_WORD}"),
    ("password", "identified by ", rf"(?:{_QUOTE}){_WORD}"),
)

# -- assignments: a key that says secret, and a value that may be one -------------------------
_STEMS = ("passw", "passphrase", "passcode", "pwd", "secret", "token", "key", "credential")
_AFTER_KEY = (
    r"(?:or)?d?s?(?:[_-]?(?:access[_-]?)?(?:key|token|value|base64|b64|plain|text|prod|production|"
    rf"live|dev|staging|test|\d{{1,3}}))?(?:{_QUOTE})?[\])]?"
    rf"(?:[ \t]{{0,20}}(?:=>|:=|={{1,3}}|:(?!:)|>|,(?=[ \t]?{_QUOTE}))[ \t]{{0,20}}"
    rf"|[ \t]{{1,20}}(?:is|was)[ \t]{{1,20}}:?|(?P<gap>[ \t]{{1,20}})(?:=[ \t]*)?)"
    rf"(?:{_QUOTE}(?P<quoted>[^\s\"'`\\]{{4,512}})(?={_QUOTE})|(?P<bare>[^\s\"'`,;<>\\]{{4,512}}))"
)
_REST = re.compile(r"[^\s\"'`,;<>\\]*")
# "key" alone says nothing; these make it a secret one.
_SECRET_KEY = re.compile(
    r"(?:api|access|auth|account|app|application|private|secret|signing|encryption|decryption|"
    r"master|license|service|admin|shared|subscription|webhook|deploy|session|jwt|hmac|aes)[_-]?$"
)
# Cursors, locks, parser and model tokens, and names of things: not credentials.
_OPEN_KEY = re.compile(
    r"(?<![a-z])(?:next|page|paging|pagination|prev|previous|lock|change|continuation|cursor|input|"
    r"output|request|idempotency|cancel|cancellation|special|sync|work_?unit|stop|pad|eos|bos|unk|"
    r"sep|cls|mask|task|resume|skip|start|end|starting|marker|page_?size|public|unexpected|invalid|"
    r"new|max|min|num|first|last|child|sub|keyword|operator|action|\d:)(?:page)?[_ -]?$"
)
_OPEN_BEFORE = re.compile(_OPEN_KEY.pattern[:-1] + r"(?:tokens?|keys?|pwd|secret)\W{0,6}$")
_FLAG = re.compile(r"(?:^|\s)--?[\w-]*$|\blogin\s{1,8}\S{1,80}\s{1,8}$")

# -- private keys -----------------------------------------------------------------------------
# RFC 7468, OpenSSH, RFC 4716 and PGP armour; a public key or certificate is none.
_ARMOUR = re.compile(
    r"----[- ](?P<edge>BEGIN|END) (?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)?[- ]-{4}"
)
# What follows a header without an end: lines of base64, also with escaped line ends.
_BODY = re.compile(r"(?:(?:\\[rn]|[\s\"'|>,])*[A-Za-z0-9+/=]{16,})*")

_WINDOW = 8192
_KINDS = {"contextual_secret": "secret", "connection_string_password": "url-password"}
_KINDS |= {"authorization_credential": "authorization", "bearer_token": "authorization"}
_KINDS |= {"aws_access_key_id": "aws-access-key", "aws_secret_access_key": "aws-secret-key"}
_GUESSES = {"contextual_secret", "authorization_credential", "bearer_token"}
# How much a kind says, where findings overlap; redact-secret's own kinds say 3.
_RANK = dict.fromkeys((row[0] for row in _FORMATS), 4) | {"private-key": 5}
_RANK |= {"secret": 0, "password": 1, "authorization": 2, "url-password": 2}

# -- placeholders ---------------------------------------------------------------------------
_MARKER = re.compile(r"\[REDACTED:[a-z0-9-]{1,64}\]")
_DUMMY = re.compile(r"(?i)example|x{5}|\*{3}|\.{3}|placeholder|redacted|change[_-]?me")
_PLACEHOLDER = re.compile(
    r"""(?ix) your | getenv | environ | dummy | foobar | insert | replace | omitted | \u2026
    | truncated | &[lg]t; | <[^>]* | \$[{(] | \{\{ | %[(sdr] | \{\w*\} | ^\$\w+$ | ^%\w+%
    | ^(?:https?: | \.{0,2}/ | ~/ | [a-z]:\\ | op: | vault: | file: | env[:.] | arn: | ref\+)
    | ^[,;]\s | ^aws4 | ^[=~^]*v?\d+\.[\w.]+$ | ^utf-?8 | ^sha\d{1,3}[:-] | &quot; | &\#
    | ^(?:self|this|cls|os|sys|config|settings|request|args|opts|options|ctx|secrets|process)\."""
)
_URL_DUMMY = re.compile(r"(?i)[<{$%*\[].*|x+|pass(?:word|wd)?|pwd|secret|token|port|.*REDACTED.*")
_STEM_WORDS = re.compile(r"(?i)pass(word|wd|phrase)?|pwd?|secret|token|key|api|user|test|[\W\d_]")
_BARE_WORD = re.compile(r"[\W_]*[A-Za-z]+(?:[\W_]+[A-Za-z]+)*[\W_]*|[\W\d_]+")
_NAME = re.compile(r"[a-z_]{1,20}\d{1,3}|[A-Za-z_]\w*(?:\.\w+)+|[A-Z_]+\d*|.*\w[(\[{].*|[\[{@(].*")


def _credible(value: str, *, weak_key: bool, quoted: bool) -> bool:
    """Whether a value is one, not a name, a call or a placeholder; a weak key asks for more."""
    if _DUMMY.search(value) or _PLACEHOLDER.search(value) or len(set(value)) < 4:
        return False
    if _BARE_WORD.fullmatch(value) or not _STEM_WORDS.sub("", value):
        return False
    if not quoted and _NAME.fullmatch(value.rstrip(")]}.:!?")):
        return False
    return not weak_key or (len(value) >= 10 and re.search(r"\d", value) is not None)


# -- finding ---------------------------------------------------------------------------------
def scan(text: str) -> tuple[Finding, ...]:
    """Return every credential in `text`, in order, none overlapping another.

    Where two overlap they become one, of the more specific kind. What only shows when a finding
    is replaced is found too, so that `redact` leaves nothing. Any string will do, also with
    lone surrogates. Raises StoreError if redact-secret fails: half the rules are none.
    """
    spans: list[Span] = []
    shown = text
    while True:
        stars = _MARKER.sub(lambda m: "*" * len(m[0]), shown)
        more = [s for s in _once(stars) if stars[s[0] : s[1]].strip("*\n")]
        if not more:
            return tuple(_on_lines(text, spans))
        spans = _merged([*spans, *_origins(text, spans, more)])
        shown = _replaced(text, spans)


def redact(text: str) -> tuple[str, tuple[Finding, ...]]:
    """Return `text` with `[REDACTED:<kind>]` for each credential, and what was replaced.

    Same lines: a finding's line feeds follow its marker, so `#L12` still points at line 12.
    Same text, same bytes, for everyone; redacting the result changes nothing. No keyed
    hash in the marker: there would be a key to keep, and bytes that differ by machine.
    """
    findings = scan(text)
    return _replaced(text, [(f.start, f.end, f.kind) for f in findings]), findings


def check(text: str, what: str) -> None:
    """Raise SecretError if `text`, which the message calls `what`, holds a credential.

    It names lines and kinds (the first three, and how many more), never the text.
    """
    findings = scan(text)
    if findings:
        shown = ", ".join(f"line {f.line} ({f.kind})" for f in findings[:3])
        shown += f" and {len(findings) - 3} more" if len(findings) > 3 else ""
        message = f"{what} holds a credential: {shown}; remove it, or let --redact replace it"
        raise SecretError(message, tuple((f.line, f.kind) for f in findings))


def _once(text: str) -> Iterator[Span]:
    # Lower case of the same length: U+0130 is the only character that grows.
    low = text.replace("\u0130", "i").lower()
    yield from _private_keys(text)
    yield from _formats(text)
    yield from _places(text, low)
    yield from _assignments(text, low)
    yield from _native(text, low)


def _hits(text: str, literal: str, tail: str) -> Iterator[re.Match[str]]:
    """Yield the matches of `tail` right after each `literal`."""
    at = text.find(literal)
    while at >= 0:
        hit = re.compile(tail, re.ASCII).match(text, at + len(literal))
        if hit:
            yield hit
        at = text.find(literal, max(hit.end() if hit else 0, at + 1))


def _formats(text: str) -> Iterator[Span]:
    for kind, *literals, tail in _FORMATS:
        for literal in filter(text.__contains__, literals):
            left = "" if re.search(r"\((?!\?)", tail) else _LEFT.replace("@", re.escape(literal))
            for hit in _hits(text, literal, left + tail + r"(?![A-Za-z0-9])"):
                start, end = hit.span(hit.lastindex or 0)
                start -= 0 if hit.lastindex else len(literal)
                if not _dummy(text[start:end]):
                    yield start, end, kind


def _dummy(secret: str) -> bool:
    return bool(_DUMMY.search(secret)) or len(set(secret)) < 6


def _places(text: str, low: str) -> Iterator[Span]:
    for kind, literal, tail in _PLACES:
        for hit in _hits(low, literal, tail):
            start, end = hit.span(hit.lastindex or 0)
            if _stands(kind, text[start:end]):
                yield start, end, kind


def _stands(kind: str, secret: str) -> bool:
    """Whether what stands where secrets stand is one."""
    if kind == "url-password":
        return not _URL_DUMMY.fullmatch(secret)
    if kind == "basic-auth" and secret != secret.lower() and len(secret) % 4 == 0:
        return not _dummy(secret)
    return _credible(secret, weak_key="auth" in kind, quoted=False)


def _assignments(text: str, low: str) -> Iterator[Span]:
    for stem in _STEMS:
        for hit in _hits(low, stem, _AFTER_KEY):
            value = "quoted" if hit["quoted"] else "bare"
            start, end = hit.span(value)
            key = low[max(0, hit.start() - len(stem) - 96) : hit.start() - len(stem)]
            if hit["gap"] and value == "bare" and not _FLAG.search(key):
                continue
            weak = not stem.startswith(("pass", "pwd"))
            if weak and (_OPEN_KEY.search(key) or (stem == "key" and not _SECRET_KEY.search(key))):
                continue
            if _credible(text[start:end], weak_key=weak, quoted=value == "quoted"):
                rest = _REST.match(text, end) if value == "bare" else None
                yield start, rest.end() if rest else end, "secret" if weak else "password"


def _private_keys(text: str) -> Iterator[Span]:
    """Yield the armoured blocks; where the end is missing, the header and what follows it."""
    marks = [*_ARMOUR.finditer(text)] if "PRIVATE KEY" in text else []
    for mark, then in zip(marks, [*marks[1:], None], strict=False):
        if mark["edge"] == "BEGIN":
            body = _BODY.match(text, mark.end())
            end = body.end() if body else mark.end()
            between = text[mark.end() : then.start()] if then and then["edge"] == "END" else ""
            # Few words for its length: a key's body, not prose between two mentions.
            if then and 20 * len(between.split()) < len(between) < 32_768:
                end = then.end()
            yield mark.start(), end, "private-key"


def _native(text: str, low: str) -> Iterator[Span]:
    # In the copy it sees, as long as the text: no lone surrogate (it takes UTF-8 only), and
    # JSON's escaped line ends and tabs as spaces, since a token right after one is a token.
    copy = re.sub("[\ud800-\udfff]", "\ufffd", text)
    copy = re.sub(r"\\[nrt]", "  ", copy) if "\\" in copy else copy
    for at, window in _windows(copy):
        for first, last, kind in _rust(window):
            start, end = at + first, at + last
            if _counts(kind, text[start:end], low[max(0, start - 48) : start]):
                yield start, end, _KINDS.get(kind, kind.replace("_", "-"))


def _windows(text: str) -> Iterator[tuple[int, str]]:
    """Cut `text` at line ends, or with an overlap where a line is too long.

    Some of redact-secret's rules are quadratic: a megabyte of "eyJ" at once takes 280 s.
    """
    at, end = 0, _WINDOW
    while end < len(text):
        line = text.rfind("\n", at + _WINDOW // 2, end) + 1
        yield at, text[at : line or end]
        at = line or end - _WINDOW // 4
        end = at + _WINDOW
    yield at, text[at:]


def _rust(window: str) -> list[Span]:
    try:
        import redact_secret

        found = redact_secret.scan(window)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001 (a panic in Rust is no Exception)
        failed = f"the secret scanner redact-secret failed ({type(error).__name__})"
        raise StoreError(f"{failed}: reinstall kg (pip install --force-reinstall kg)") from None
    return [(f.start, f.end, f.type) for f in found]


def _counts(kind: str, secret: str, before: str) -> bool:
    """Whether a finding of redact-secret is a credential by kg's measure, too."""
    if kind == "telegram_bot_token":
        return ":AA" in secret  # else it may be an ARN's account and resource
    if kind in _GUESSES:
        return not _OPEN_BEFORE.search(before) and _credible(secret, weak_key=False, quoted=False)
    if kind == "connection_string_password":
        return _stands("url-password", secret)
    if kind == "private_key":  # from a header without an end it takes all that follows
        return not _ARMOUR.search(secret)
    return not _dummy(secret) and not _BARE_WORD.fullmatch(secret)


def _merged(spans: list[Span]) -> list[Span]:
    """Return the spans in order, each group that overlaps as one of its best kind."""
    out: list[tuple[int, int, tuple[int, int, str]]] = []
    for start, end, kind in sorted(spans):
        worth = (_RANK.get(kind, 3), end - start, kind)
        if out and start < out[-1][1]:
            first, last, best = out.pop()
            out.append((first, max(last, end), max(best, worth)))
        else:
            out.append((start, end, worth))
    return [(start, end, best[2]) for start, end, best in out]


def _marker(secret: str, kind: str) -> str:
    return f"[REDACTED:{kind}]" + "\n" * secret.count("\n")


def _replaced(text: str, spans: list[Span]) -> str:
    parts, at = [], 0
    for start, end, kind in spans:
        parts += [text[at:start], _marker(text[start:end], kind)]
        at = end
    return "".join([*parts, text[at:]])


def _origins(text: str, spans: list[Span], found: list[Span]) -> Iterator[Span]:
    """Yield where in `text` lies what was found in it with `spans` replaced."""
    edges, shift = [(0, 0, 0, 0)], 0
    for start, end, kind in spans:
        marker = len(_marker(text[start:end], kind))
        edges.append((start + shift, start + shift + marker, start, end))
        shift += marker - (end - start)
    for first, last, kind in found:
        _, after, start, end = edges[bisect_left(edges, (first + 1,)) - 1]
        begin = start if first < after else first - after + end
        _, after, _, end = edges[bisect_left(edges, (last,)) - 1]
        yield begin, max(end, last - after + end), kind


def _on_lines(text: str, spans: list[Span]) -> Iterator[Finding]:
    line, at = 1, 0
    for start, end, kind in spans:
        line += text.count("\n", at, start)
        at = start
        yield Finding(line, kind, start, end)
