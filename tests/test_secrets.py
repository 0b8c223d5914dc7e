"""What kg.secrets promises: what it finds, what it leaves alone, and what it costs.

No line of this file holds a whole secret: the fakes are joined when the tests run, always the
same ones, with the vendors' checksums where there are any. `scripts/bench/secrets.py` reads
the two corpora from here.
"""

from __future__ import annotations

import base64
import hashlib
import itertools
import random
import string
import sys
import time
import uuid
import zlib
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kg import secrets
from kg.errors import KgError, SecretError, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable

RANDOM = random.Random(20_261_020)
ALNUM = string.ascii_letters + string.digits
URLSAFE = ALNUM + "_-"
HEX = "0123456789abcdef"
BASE32 = string.ascii_uppercase + "234567"
DASHES = "-" * 5


def chars(count: int, alphabet: str = ALNUM) -> str:
    """Return `count` random characters, with at least a digit and both cases where it can."""
    while True:
        drawn = "".join(RANDOM.choice(alphabet) for _ in range(count))
        wanted = [
            set(part)
            for part in (string.digits, string.ascii_lowercase)
            if set(part) & set(alphabet)
        ]
        if all(set(drawn) & part for part in wanted):
            return drawn


def crc62(body: str) -> str:
    """Return `body` with the six base62 digits of its CRC-32, as GitHub and npm write them."""
    number, digits = zlib.crc32(body.encode()), ""
    alphabet = string.digits + string.ascii_uppercase + string.ascii_lowercase
    for _ in range(6):
        number, rest = divmod(number, 62)
        digits = alphabet[rest] + digits
    return body + digits


def b64(text: str) -> str:
    """Return `text` in base64, without padding, in the alphabet of URLs."""
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def jwt() -> str:
    """Return a JSON web token with a signature."""
    head, body = '{"alg":"HS256","typ":"JWT"}', '{"sub":"1234567890","name":"J D","iat":1516239022}'
    return ".".join((b64(head), b64(body), chars(43, URLSAFE)))


def armour(label: str, lines: int = 4, *, end: bool = True) -> str:
    """Return a fake private key block of that label."""
    body = [chars(64, ALNUM + "+/") for _ in range(lines)]
    close = [f"{DASHES}END {label}{DASHES}"] if end else []
    return "\n".join([f"{DASHES}BEGIN {label}{DASHES}", *body, *close])


# kind -> lines as (before, secret, after); the secret must be covered, whole.
Line = tuple[str, str, str]


def _vendors() -> dict[str, list[Line]]:
    """Formats that give themselves away, each standing in some everyday place."""
    hexa: Callable[[int], str] = lambda n: chars(n, HEX)  # noqa: E731
    slug: Callable[[int], str] = lambda n: chars(n, URLSAFE)  # noqa: E731
    plain = {
        "github-token": [
            *(f"gh{c}_" + crc62(chars(30)) for c in "pousr"),
            "github_" + "pat_" + chars(22) + "_" + chars(59),
        ],
        "gitlab-token": [
            "glp" + "at-" + slug(20),
            "gld" + "t-" + slug(20),
            "GR13" + "48941" + slug(20),
        ],
        "npm-token": ["np" + "m_" + crc62(chars(30))],
        "pypi-token": ["py" + "pi-AgEIcHlwaS5vcmc" + slug(120)],
        "rubygems-api-key": ["ruby" + "gems_" + hexa(48)],
        "crates-io-api-token": ["ci" + "o" + chars(32)],
        "docker-token": ["dckr" + "_pat_" + slug(27)],
        "slack-token": [
            "xox" + f"b-{chars(12, string.digits)}-{chars(12, string.digits)}-{chars(24)}"
        ],
        "slack-app-level-token": [
            "xap" + f"p-1-A{chars(10, BASE32)}-{chars(13, string.digits)}-{hexa(64)}"
        ],
        "stripe-key": ["sk_" + "live_" + chars(24), "rk_" + "test_" + chars(99)],
        "stripe-webhook-signing-secret": ["whs" + "ec_" + chars(32)],
        "square-oauth-application-secret": ["sq0" + "csp-" + slug(43)],
        "square-access-token": ["EAA" + "A" + slug(60)],
        "shopify-token": ["shp" + "at_" + hexa(32), "shp" + "ss_" + hexa(32)],
        "openai-key": [
            "sk-" + "proj-" + slug(74) + "T3Blbk" + "FJ" + slug(74),
            "sk-" + chars(20) + "T3Blbk" + "FJ" + chars(20),
        ],
        "anthropic-key": ["sk-" + "ant-api03-" + slug(93) + "AA"],
        "openrouter-api-key": ["sk-" + "or-v1-" + hexa(64)],
        "groq-api-key": ["gs" + "k_" + chars(52)],
        "xai-api-key": ["xa" + "i-" + chars(80)],
        "perplexity-api-key": ["ppl" + "x-" + chars(48)],
        "replicate-api-token": ["r" + "8_" + chars(37)],
        "hugging-face-token": ["h" + "f_" + chars(34)],
        "google-api-key": ["AI" + "za" + slug(35)],
        "google-oauth-client-secret": ["GOC" + "SPX-" + slug(28)],
        "google-oauth-token": ["ya" + "29." + slug(120)],
        "aws-access-key": ["AK" + "IA" + chars(16, BASE32), "AS" + "IA" + chars(16, BASE32)],
        "microsoft-entra-client-secret": [chars(3) + "8" + "Q~" + slug(34)],
        "sendgrid-key": ["S" + "G." + slug(22) + "." + slug(43)],
        "twilio-key": ["S" + "K" + hexa(32)],
        "mailgun-key": ["ke" + "y-" + hexa(32)],
        "digitalocean-token": ["do" + "p_v1_" + hexa(64)],
        "heroku-api-key": ["HR" + "KU-" + "AA" + slug(58)],
        "netlify-personal-access-token": ["nf" + "p_" + chars(36)],
        "supabase-personal-access-token": ["sb" + "p_" + hexa(40)],
        "cloudflare-key": ["v1" + ".0-" + hexa(24) + "-" + hexa(146)],
        "tailscale-key": ["ts" + "key-auth-" + chars(16) + "-" + chars(32)],
        "databricks-personal-access-token": ["da" + "pi" + hexa(32)],
        "vault-token": ["hv" + "s." + slug(95)],
        "terraform-token": [chars(14) + ".atl" + "asv1." + slug(67)],
        "pulumi-access-token": ["pu" + "l-" + hexa(40)],
        "doppler-personal-token": ["d" + "p.pt." + chars(43)],
        "atlassian-api-token": ["ATA" + "TT3" + slug(180) + "=" + chars(8, HEX.upper())],
        "bitbucket-token": ["AT" + "BB" + chars(32)],
        "linear-token": ["lin" + "_api_" + chars(40)],
        "notion-token": ["nt" + "n_" + chars(46), "sec" + "ret_" + chars(43)],
        "figma-token": ["fi" + "gd_" + slug(40)],
        "airtable-token": ["pa" + "t" + chars(14) + "." + hexa(64)],
        "postman-api-key": ["PM" + "AK-" + hexa(24) + "-" + hexa(34)],
        "new-relic-key": ["NR" + "AK-" + chars(27, string.ascii_uppercase + string.digits + "a")],
        "sentry-user-auth-token": ["sntr" + "yu_" + hexa(64)],
        "sentry-org-auth-token": ["sntr" + "ys_" + b64('{"iat":1,"url":"u"}') + "_" + chars(43)],
        "posthog-personal-api-key": ["ph" + "x_" + chars(43)],
        "grafana-service-account-token": ["gl" + "sa_" + chars(32) + "_" + hexa(8)],
        "grafana-cloud-access-policy-token": ["gl" + "c_" + b64('{"o":"1","n":"x"}') + chars(40)],
        "dynatrace-token": ["dt0" + "c01." + chars(24, BASE32) + "." + chars(64, BASE32)],
        "sonarqube-analysis-token": ["sq" + "p_" + hexa(40)],
        "jwt": [jwt()],
        "password-hash": [
            "$2" + "b$12$" + chars(53),
            "$ap" + "r1$" + chars(8) + "$" + chars(22),
            "$" + "6$" + chars(16) + "$" + chars(86),
            "$ar" + "gon2id$v=19$m=65536,t=3,p=4$" + chars(22) + "$" + chars(43),
            "{SH" + "A}" + chars(27) + "=",
        ],
        "age-key": ["AGE-SEC" + "RET-KEY-1" + chars(58, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L")],
    }
    around = (
        ("", ""),
        ("use ", " for it."),
        ('{"content": "a\\n', '\\n"}'),
        ("`", "`"),
        ("see (", ")"),
    )
    return {
        kind: [
            (*around[(n + len(kind)) % 5][:1], s, around[(n + len(kind)) % 5][1])
            for n, s in enumerate(some)
        ]
        for kind, some in plain.items()
    }


def _places() -> dict[str, list[Line]]:
    """Secrets that only their key, or the place where they stand, gives away."""
    login = base64.b64encode(b"bob:correct9horse").decode()
    return {
        "slack-webhook": [
            ("https://hooks.slack.com/services/", f"T{chars(8)}/B{chars(8)}/{chars(24)}", "")
        ],
        "discord-webhook": [
            ("https://discord.com/api/webhooks/" + "1" * 18 + "/", chars(68, URLSAFE), "")
        ],
        "telegram-bot-token": [("bot 123456789:" + "AA", chars(33, URLSAFE), "")],
        "azure-storage-key": [
            ("AccountName=x;AccountKey=", chars(86, ALNUM + "+/") + "==", ";EndpointSuffix=core")
        ],
        "azure-sas": [("https://x.blob.core.windows.net/c?se=2027&sig=", chars(43) + "%3D", "")],
        "aws-secret-key": [
            ("aws_secret_access_key = ", chars(40, ALNUM + "+/"), ""),
            ('  "SecretAccessKey": "', chars(40, ALNUM + "+/"), '",'),
            ("export AWS_SECRET_ACCESS_KEY=", chars(40), ""),
        ],
        "private-key": [
            *(
                ("", armour(f"{name}PRIVATE KEY"), "")
                for name in ("", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED ")
            ),
            ("", armour("PGP PRIVATE KEY BLOCK"), ""),
            ("", armour("RSA PRIVATE KEY", 3, end=False), "\n\nand so on"),
            ("the file starts with ", armour("PRIVATE KEY", 0, end=False), " as usual"),
            ('"private_key": "', armour("PRIVATE KEY").replace("\n", "\\n"), '\\n",'),
        ],
        "url-password": [
            ("postgres://user:", "pw", "@host/db"),
            ("redis://:", "s3cr3t" + "Cache", "@cache:6379/0"),
            ("https://x-access-token:", "v1" + chars(20), "@git.host/a/b.git"),
            ("DATABASE_URL='mysql://app:", "Zu%40" + "ffn9", "@10.0.0.1/app'"),
        ],
        "authorization": [
            ("Authorization: Bearer ", chars(40), ""),
            ('curl -H "Authorization: token ', chars(40, HEX), '" https://api'),
            ('"authorization": "Bearer ', chars(32), '"'),
        ],
        "basic-auth": [
            ("Authorization: Basic ", base64.b64encode(b"aladdin:opensesame").decode(), "")
        ],
        "password": [
            ("password=", "hunt" + "er2boo", ""),
            ("new_password: ", "xY7" + "fox!Trot", ""),
            ("DB_PASSWORD: ", "Tr0ub4dor" + "&3", ""),
            ('{"user": "bob", "password": "', "s3cr3t-" + "W0rd", '"}'),
            ("the password is ", "Xk9#mm" + "Pq2", " until Monday"),
            ("<password>", "abc9" + "Def!x", "</password>"),
            ("mysql -u root --password ", "g00d" + "Luck7", ""),
            ("curl -u bob:", "s3cret" + "Pw9", " https://x"),
            ("curl --user bob:", "s3cret" + "Pw9", " https://x"),
            ("mysqldump -h db -u root -p", "R00t" + "pw9x", " app"),
            ("sshpass -p '", "R00t" + "pw9x", "' ssh h"),
            ("machine git.host login bob password ", "n3trc" + "Pw8", ""),
            ("CREATE USER x IDENTIFIED BY '", "My5ql" + "Pass!", "'"),
            ("Server=db;User Id=sa;Pwd=", "Str0ng" + "Pa55", ";Encrypt=true"),
            ("export PGPASSWORD=", "qwe7" + "RTY8u", ""),
            ('\\"passphrase\\": \\"', "bl4ck" + "-C4t5", '\\"'),
        ],
        "datadog-api-key": [("DD_API_KEY=", chars(32, HEX), "")],
        "twilio-auth-token": [("twilio_auth_token: ", chars(32, HEX), "")],
        "heroku-api-key-legacy": [
            ("HEROKU_API_KEY=", str(uuid.UUID(int=RANDOM.getrandbits(128))), "")
        ],
        "secret": [
            ('{"auths": {"r.io": {"auth": "', login, '"}}}'),
            ("//registry.x.io/:_auth=", login, ""),
            ("api_key = '", chars(32), "'"),
            ("client_secret: ", chars(28), ""),
            ("SECRET_KEY=", chars(64, HEX), ""),
            ("FASTLY_API_TOKEN=", chars(32, URLSAFE), ""),
            ("admin_token = ", chars(32), ""),
            ("BACKEND_TOKEN=", chars(24), ""),
            ("deploy --token ", chars(30), " now"),
            ("X-Api-Key: ", chars(36), ""),
            ('credentials = "', chars(24), '"'),
        ],
    }


CORPUS = _vendors() | _places()
CASES = [(kind, *line) for kind, lines in CORPUS.items() for line in lines]


def _benign() -> list[str]:
    """Lines of a developer's day that look secret to a scanner and are not."""
    lines = []
    for n in range(14):
        sha1, sha256 = (getattr(hashlib, h)(b"%d" % n).hexdigest() for h in ("sha1", "sha256"))
        digest = base64.b64encode(hashlib.sha512(b"%d" % n).digest()).decode()
        ulid = "01" + chars(24, "0123456789ABCDEFGHJKMNPQRSTVWXYZ")
        lines += [
            f"commit {sha1}",
            f"index {sha1[:7]}..{sha256[:7]} 100644",
            f"Author: dependabot[bot] <{n}+dependabot[bot]@users.noreply.github.com>",
            f"sha256:{sha256}",
            f'      "integrity": "sha512-{digest}",',
            f"docker pull alpine@sha256:{sha256}",
            f"request id {uuid.UUID(int=RANDOM.getrandbits(128))} took 12 ms",
            f"event {ulid} was seen",
            f'{{"type": "tool_use", "id": "toolu_{chars(24)}", "name": "Bash"}}',
            f"call_{chars(24)} chatcmpl-{chars(29)} msg_{chars(24)} req_{chars(24)}",
            f"![x](data:image/png;base64,iVBORw0KGgo{chars(400, ALNUM + '+/')}==)",
            f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{chars(43)} bob@host",
            f"cache_key: {sha256}, next_token: {chars(24)}",
            f"partition_key={sha1} primary_key={n}",
        ]
    lines += """
author: x
password = os.environ["DB_PASSWORD"]
password = getpass.getpass()
password: str = Field(min_length=8)
password=${DB_PASSWORD}
password=$PASSWORD
password: "{{ vault_password }}"
password: <your-password>
password=changeme
password=xxxxxxxx
password: ********
password=[REDACTED:password]
PASSWORD=REDACTED
api_key = "YOUR_API_KEY_12345678"
api_key: process.env.API_KEY
api_key=example-1234567890
token = self.tokenizer.next_token()
token: string; secret: string; password: string
the token is a cursor, the secret is to keep going, the password is required
max_tokens: 4096, input_tokens=12345678901, "output_tokens": 998877665544
eos_token = "<|endoftext|>", pad_token: "[PAD]"
{"NextToken": "abcDEF123456789abcDEF123456789"}
redact-secret==0.1.0b15
secret = hmac.new(key, body, sha256).hexdigest()
--password-file /run/secrets/db --token-url https://host/token
docker run -u 1000:1000 image
curl -u "$USER:$PASSWORD" https://host
git clone git@github.com:owner/repo.git
ssh://git@github.com:22/owner/repo
https://user@host.example/path and mail bob@corp.example about 10.0.0.1
postgres://user:password@localhost/db
postgres://user:${PGPASSWORD}@localhost/db
Authorization: Bearer <token>
Authorization: Bearer $TOKEN
Authorization: Basic realm
the bearer of this letter, bearer authentication
WWW-Authenticate: Bearer realm="api", error="invalid_token"
keyboard: qwerty, monkey: banana42monkey, turkey=12345abcde
public_key: MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE
""".strip().splitlines()
    lines += [
        "AKIA" + "IOSFODNN7" + "EXAMPLE",
        "aws_secret_access_key = " + "wJalrXUtnFEMI/K7MDENG/" + "bPxRfiCYEXAMPLEKEY",
        "gh" + "p_" + "x" * 36,
        "sk-" + "ant-api03-" + "x" * 95,
        armour("PUBLIC KEY"),
        armour("CERTIFICATE"),
    ]
    return lines


BENIGN = _benign()


def found(text: str) -> list[tuple[str, str]]:
    """Return what is found in `text` as (kind, what it covers)."""
    return [(f.kind, text[f.start : f.end]) for f in secrets.scan(text)]


@pytest.mark.parametrize(("kind", "before", "secret", "after"), CASES, ids=lambda v: str(v)[:24])
def test_every_kind_is_found_whole(kind: str, before: str, secret: str, after: str) -> None:
    """Each fake is found as its kind, and no character of the secret is left over."""
    text = f"first line\n{before}{secret}{after}\nlast line"
    hits = [f for f in secrets.scan(text) if f.kind == kind]
    assert hits, secrets.scan(text)
    redacted, _ = secrets.redact(text)
    assert not any(part in redacted for part in (secret[-9:], secret))
    assert redacted.startswith("first line\n" + before[:4])
    assert hits[0].line == 2


def test_the_corpus_is_as_broad_as_it_says() -> None:
    """At least sixty kinds and two hundred benign lines are tried."""
    assert len(CORPUS) >= 60
    assert len(BENIGN) >= 200


@pytest.mark.parametrize("line", BENIGN, ids=lambda v: str(v)[:24])
def test_look_alikes_are_left_alone(line: str) -> None:
    """Hashes, ids, placeholders, code and documented examples are no secrets."""
    assert found(line) == []


def test_personal_data_is_no_secret() -> None:
    """Facts about people hold names, addresses and numbers; they pass."""
    assert found("Ada Lovelace <ada@corp.org>, +44 20 7946 0958, 192.168.0.7, 078-05-1120") == []


def test_findings_are_sorted_apart_and_on_their_line() -> None:
    """Lines count line feeds alone, from 1, and findings never overlap."""
    text = "".join(f"{b}{s}{a}\r\n\u2028x\n" for _, b, s, a in CASES)
    hits = secrets.scan(text)
    assert list(hits) == sorted(hits)
    assert all(one.end <= two.start for one, two in itertools.pairwise(hits))
    assert all(f.line == text.count("\n", 0, f.start) + 1 for f in hits)


def test_the_more_specific_kind_wins() -> None:
    """A vendor's token in an assignment or a header is named as the vendor's."""
    token = CORPUS["github-token"][0][1]
    for text in (f"password={token}", f"Authorization: Bearer {token}", f"https://u:{token}@host/"):
        assert found(text) == [("github-token", token)]


def test_all_in_one_text_is_redacted_to_nothing() -> None:
    """The whole corpus redacted keeps its lines, scans clean, and redacts to itself."""
    text = "\n".join(f"{b}{s}{a}" for _, b, s, a in CASES) + "\n"
    redacted, hits = secrets.redact(text)
    assert len(hits) >= len(CASES) * 0.9
    assert redacted.count("\n") == text.count("\n")
    assert secrets.redact(redacted) == (redacted, ())
    assert secrets.redact(text) == (redacted, hits)


def test_a_marker_is_the_kind_and_nothing_of_the_secret() -> None:
    """The marker depends on the kind alone, so everyone's bytes are the same."""
    one, two = ("password=" + "hunt" + tail for tail in ("er2boo", "er2baz!"))
    assert secrets.redact(one)[0] == secrets.redact(two)[0] == "password=[REDACTED:password]"


def test_a_key_block_keeps_its_line_feeds() -> None:
    """What stands on line n still stands on line n when a key above it is gone."""
    text = "a\n" + armour("RSA PRIVATE KEY", 5) + "\nlast\n"
    assert secrets.redact(text)[0] == "a\n[REDACTED:private-key]" + "\n" * 7 + "last\n"


PIECES = [f"{b}{s}{a}" for _, b, s, a in CASES] + BENIGN[:20]
GLUE = ["", " ", "\n", ":", "=", '"', "'", "@", "\\n", "password=", "://a:", "[REDACTED:x]", "***"]


@settings(max_examples=120, deadline=None)
@given(st.lists(st.sampled_from(PIECES + GLUE * 8), max_size=12), st.text(max_size=8))
def test_redacting_leaves_nothing_to_find(parts: list[str], noise: str) -> None:
    """However secrets are glued together, one pass leaves none and keeps the lines."""
    text = noise.join(parts)
    redacted, _ = secrets.redact(text)
    assert secrets.scan(redacted) == ()
    assert redacted.count("\n") == text.count("\n")


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(), max_size=200))
def test_any_string_can_be_scanned(text: str) -> None:
    """No string makes it fail, and what has no finding comes back unchanged."""
    redacted, hits = secrets.redact(text)
    assert hits or redacted == text


def test_surrogates_and_nul_are_text() -> None:
    """Half characters, NUL and letters that grow in lower case do not shift a finding."""
    text = "\ud800\x00\ud83d\udca9 \u0130\u0130 password=" + "hunter2" + "boo \udfff"
    assert found(text) == [("password", "hunt" + "er2boo")]
    assert secrets.redact(text)[0].startswith("\ud800\x00")


def test_check_names_lines_and_kinds_never_the_text() -> None:
    """The error says where, what and what to do, and holds nothing of the secret."""
    lines = [
        "password=" + "hunt" + "er2boo",
        "ok",
        *(f"use {CORPUS['jwt'][0][1]}" for _ in range(4)),
    ]
    with pytest.raises(SecretError) as caught:
        secrets.check("\n".join(lines), "the text")
    message = str(caught.value)
    assert message.startswith("the text holds")
    assert "line 1 (password), line 3 (jwt), line 4 (jwt) and 2 more" in message
    assert "--redact" in message
    assert "hunter2" not in message + repr(caught.value.findings)
    assert caught.value.findings == ((1, "password"), *((n, "jwt") for n in range(3, 7)))
    assert "\n" not in message


def test_check_lets_clean_text_pass() -> None:
    """Nothing is raised for a text without a credential."""
    secrets.check("payments-api is owned by Acme Corp", "the text")


def test_a_missing_native_scanner_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without redact-secret nothing is scanned by half: the error says how to reinstall."""
    monkeypatch.setitem(sys.modules, "redact_secret", None)
    with pytest.raises(StoreError, match="reinstall kg") as caught:
        secrets.scan("anything")
    assert isinstance(caught.value, KgError)


class Panic(BaseException):
    """What a Rust panic looks like in Python: no Exception."""


def _raise(error: BaseException) -> Callable[..., object]:
    def scan(*_: object, **__: object) -> object:
        raise error

    return scan


@pytest.mark.parametrize("error", [Panic("hunter2"), RuntimeError("hunter2")])
def test_a_failing_native_scanner_is_an_error(
    monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    """A panic in Rust becomes a StoreError, without the text that caused it."""
    monkeypatch.setattr("redact_secret.scan", _raise(error))
    with pytest.raises(StoreError) as caught:
        secrets.scan("anything")
    assert "hunter2" not in str(caught.value)


def test_an_interrupt_stays_an_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Control-C is not taken for a failing scanner."""
    monkeypatch.setattr("redact_secret.scan", _raise(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        secrets.scan("anything")


UNITS = [
    *("a", "=", " ", "\n", '"', f"{DASHES}BEGIN", f"{DASHES}BEGIN PRIVATE KEY{DASHES}\n"),
    *(
        "eyJ",
        "eyJ.",
        "?token=",
        "ops_eyJ",
        "password=",
        "password = ",
        "password is ",
        "key",
        "://",
    ),
    *("://a:", "-u a:", "mysql ", "authorization: ", "bearer ", "pat", "xoxb-", "$6$", "api_key='"),
    *("login a password ", "-login a ", "secret_a", "http:" + "//a:b@c ", "A_", "token token_"),
]


@pytest.mark.parametrize("unit", UNITS, ids=repr)
def test_twice_the_text_costs_about_twice(unit: str) -> None:
    """No repetition makes a scan more than linear."""

    def cost(size: int) -> float:
        text, best = unit * (size // len(unit)), float("inf")
        for _ in range(3):
            start = time.process_time()
            secrets.scan(text)
            best = min(best, time.process_time() - start)
        return best

    assert cost(48_000) < 3 * cost(24_000) + 0.02


def test_a_megabyte_of_anything_ends() -> None:
    """A megabyte of one character, or of openings that never close, is scanned like text."""
    for unit in ("a", "=", f"{DASHES}BEGIN"):
        secrets.scan(unit * (1_000_000 // len(unit)))


def test_a_secret_over_a_window_is_found() -> None:
    """Long lines are cut for redact-secret with an overlap, so that no cut hides a secret."""
    secret = "s" + chars(30)
    for at in range(7_900, 8_300, 13):
        text = (
            "x " * (at // 2) + f"lsv2_pt_{chars(32, HEX)}_{chars(10, HEX)} {secret}" + " y" * 9_000
        )
        assert len(secrets.scan(text)) == 1
