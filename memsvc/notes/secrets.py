"""Finds credentials in a text, so that they are never remembered.

The rules are those of detect-secrets that need no network, a few token prefixes that it lacks, and
a random-looking value beside a word such as `api_key` or `password`. Random-looking text alone is
no secret: notes are full of commit ids, checksums, UUIDs and ULIDs. Nor are references
(`${TOKEN}`, `os.environ[…]`, `see vault`) and obvious examples: a value that says so
(`AKIAIOSFODNN7EXAMPLE`, `your-token-here`) or repeats a sign (`ghp_xxxx…`).
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

__all__ = ["find_secret"]

_WINDOW = 1200
_OVERLAP = 300
"""Rules written for lines of code see the text through windows: their cost stays linear."""

_PLUGINS = (
    ("artifactory", "ArtifactoryDetector"),
    ("aws", "AWSKeyDetector"),
    ("azure_storage_key", "AzureStorageKeyDetector"),
    ("cloudant", "CloudantDetector"),
    ("discord", "DiscordBotTokenDetector"),
    ("github_token", "GitHubTokenDetector"),
    ("gitlab_token", "GitLabTokenDetector"),
    ("ibm_cloud_iam", "IbmCloudIamDetector"),
    ("ibm_cos_hmac", "IbmCosHmacDetector"),
    ("mailchimp", "MailchimpDetector"),
    ("npm", "NpmDetector"),
    ("openai", "OpenAIDetector"),
    ("pypi_token", "PypiTokenDetector"),
    ("sendgrid", "SendGridDetector"),
    ("slack", "SlackDetector"),
    ("softlayer", "SoftlayerDetector"),
    ("square_oauth", "SquareOAuthDetector"),
    ("stripe", "StripeDetector"),
    ("telegram_token", "TelegramBotTokenDetector"),
    ("twilio", "TwilioKeyDetector"),
)
_WHOLE_TOKEN = {"artifactory", "aws", "discord", "mailchimp", "telegram_token", "twilio"}
"""Rules whose match must not go on in letters or digits, or it is part of something longer."""
_MARKS = {"npm": "_authToken", "openai": "T3BlbkFJ"}
"""What a text must hold for the rules that are slow to find nothing."""
_LOOSE = {"artifactory", "ibm_cloud_iam", "cloudant"}
"""Rules so wide that the value must look random as well."""

_PREFIXED = re.compile(
    r"(?<![A-Za-z0-9_-])(?:"
    r"(?P<anthropic>sk-ant-[A-Za-z0-9_-]{24,})"
    r"|(?P<openai>sk-(?:proj-|svcacct-|or-v1-)?[A-Za-z0-9_-]{32,})"
    r"|(?P<github>github_pat_[A-Za-z0-9_]{40,})"
    r"|(?P<google>AIza[A-Za-z0-9_-]{35}|ya29\.[A-Za-z0-9_-]{30,}|GOCSPX-[A-Za-z0-9_-]{28})"
    r"|(?P<hugging_face>hf_[A-Za-z0-9]{30,})"
    r"|(?P<npm>npm_[A-Za-z0-9]{36})"
    r"|(?P<slack>x(?:app|ox[a-z])-[A-Za-z0-9-]{20,})"
    r"|(?P<stripe>(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{20,}|whsec_[A-Za-z0-9+/]{24,})"
    r"|(?P<digitalocean>do[opr]_v1_[a-f0-9]{64})"
    r"|(?P<shopify>shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32})"
    r"|(?P<atlassian>ATATT3[A-Za-z0-9_=-]{40,})"
    r"|(?P<age>AGE-SECRET-KEY-1[A-Z0-9]{50,})"
    r"|(?P<vault>hvs\.[A-Za-z0-9_-]{24,})"
    r")"
)
_JWT = re.compile(
    r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]*+)?"
)
_PRIVATE_KEY = re.compile(
    r"(?:BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-\d)"
    r"(?=[\s\S]{0,300}?[A-Za-z0-9+/=]{40})"
)
_URL_PASSWORD = re.compile(r"://[^\s/:@?#\[\]<>\"'`]{0,100}:([^\s/@<>\"'`]{3,100})@(?=[\w\[<$])")
_AUTHORIZATION = re.compile(
    r"\b(?:bearer|(?<=authorization: )basic|(?<=authorization: )token)\s{1,4}"
    r"([A-Za-z0-9._~+/=-]{16,})",
    re.IGNORECASE,
)
_NAMED_VALUE = re.compile(
    r"(?:(?P<password>passw(?:or)?d|passphrase|(?<![a-z])pwd)"
    r"|api[_ -]?key|apikey|secret(?:[_ -]?(?:access[_ -]?)?key)?|access[_ -]?key"
    r"|(?:auth|access|api|refresh|bot|bearer|session)[_ -]?token|token|client[_ -]?secret"
    r"|private[_ -]?key|encryption[_ -]?key|account[_ -]?key|signing[_ -]?key|credentials?)"
    r"(?:[_-][A-Za-z0-9]{1,16}){0,2}"
    r"[\"'`*_\])]{0,4}[ \t]{0,4}(?::=|=>|={1,3}|:|\bis\b|\|)[ \t\"'`*(_]{0,8}"
    r"(?P<value>[^\s\"'`,;<>|*]{6,200})",
    re.IGNORECASE,
)

_EXAMPLE = re.compile(
    r"example|sample|placeholder|your|dummy|redacted|change[_-]?me|x{4}|\*{3}|\.{3}|…|todo|fake"
    r"|insert|replace|test[_-]?key|^(?:pass(?:w(?:or)?d|phrase)?|secret|pwd|token|user|admin|root)$",
    re.IGNORECASE,
)
_REFERENCE = re.compile(
    r"[$%{<]|^(?:/|\./|~/|\.\./|https?:|file:|op:|vault:|env:|ssm:|arn:|\[\[)"
    r"|^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+$|^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$"
    r"|^[A-Za-z_][\w.]*[(\[]|\.(?:md|py|ts|js|go|rs|txt|pem|json|ya?ml|toml|env|key|crt|html?)$"
)
_IDENTITY = re.compile(
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-7][0-9A-HJKMNP-TV-Z]{25}"
    r"|\d{4}-\d{2}-\d{2}\S*|sha\d{1,3}[:-]\S+|v?\d+(?:[.:]\d+)*",
    re.IGNORECASE,
)
_NAMES = re.compile(
    r"(?:1password|bitwarden|keepass\w*|lastpass|oauth-?2?(?:\.\d)?|auth0|argon2\w*|bcrypt|scrypt|pbkdf2\w*"
    r"|(?:hmac-?)?sha-?\d+|md5|base64\w*|utf-?8|[rhe]s256|aes-?\d+\w*|ed25519|k8s|x509|pkcs\d+|int\d+)"
    r"[-\w]*",
    re.IGNORECASE,
)
_CODE = set("()[]{}<>/\\|:=")
_RANDOM_LENGTH = 16
_RANDOM_BITS = 3.0
_RANDOM_CHANGES = 3
_PASSWORD_LENGTH = 8
_PASSWORD_KINDS = 3
_WORDS_IN_A_SLUG = 3


@dataclass(frozen=True, slots=True)
class _Rule:
    """One pattern of a plugin, its name, and what its match must be besides."""

    name: str
    pattern: "re.Pattern[str]"
    mark: str
    whole: bool
    loose: bool


def find_secret(text: str) -> str | None:
    """The name of the first rule that a credential in the text breaks, or None.

    Never the value. Linear in the text.
    """
    for rule in (_prefixed, _tokens, _addresses, _named_values):
        for name in rule(text):
            return name
    step = _WINDOW - _OVERLAP
    for at in range(0, max(len(text) - _OVERLAP, 1), step):
        found = _by_plugins(text[at : at + _WINDOW])
        if found:
            return found
    return None


def _prefixed(text: str) -> Iterator[str]:
    for match in _PREFIXED.finditer(text):
        value = match[0]
        if _is_example(value) or not any(char.isdigit() for char in value[3:]):
            continue
        if match.lastgroup != "openai" or _is_random(value):
            yield f"{match.lastgroup}-token".replace("_", "-")


def _tokens(text: str) -> Iterator[str]:
    if "eyJ" in text:
        valid = _jwt_check()
        for match in _JWT.finditer(text):
            if valid(match[0]):
                yield "json-web-token"
    if "KEY" in text or "Key-File" in text:
        for _ in _PRIVATE_KEY.finditer(text):
            yield "private-key"


def _addresses(text: str) -> Iterator[str]:
    if "://" in text:
        for match in _URL_PASSWORD.finditer(text):
            if not _is_example(match[1]) and not _REFERENCE.search(match[1]):
                yield "basic-auth-credentials"
    for match in _AUTHORIZATION.finditer(text):
        value = match[1]
        if not _is_example(value) and (_is_random(value) or match[0][:5].lower() == "basic"):
            yield "authorization-header"


def _named_values(text: str) -> Iterator[str]:
    for match in _NAMED_VALUE.finditer(text):
        value = match["value"].rstrip(".!?:)]}_")
        if _is_example(value) or _REFERENCE.search(value) or _IDENTITY.fullmatch(value):
            continue
        if match["password"] and _is_password(value):
            yield "password"
        elif _is_random(value):
            yield "secret-keyword"


def _by_plugins(window: str) -> str | None:
    for rule in _rules():
        if rule.mark not in window:
            continue
        for match in rule.pattern.finditer(window):
            value = match[0].strip("\"'=: \t\n")
            if _continues(window, match, whole=rule.whole) or _is_example(value):
                continue
            if rule.loose and not _is_random(match[match.lastindex or 0].strip("\"'=: \t\n")):
                continue
            return rule.name
    return None


def _continues(window: str, match: "re.Match[str]", *, whole: bool) -> bool:
    """Whether the match is a piece of a longer run of letters and digits."""
    start, end = match.span()
    before, after = window[start - 1 : start] if start else "", window[end : end + 1]
    if before.isalnum() and match[0][0].isalnum():
        return True
    return whole and after.isalnum() and match[0][-1].isalnum()


def _is_example(value: str) -> bool:
    return bool(_EXAMPLE.search(value)) or not _varied(value)


def _varied(value: str) -> bool:
    return len(set(value.lower())) > min(len(value) // 4, 6)


def _is_random(value: str) -> bool:
    """Long, of letters and digits in turn, and not words joined by signs."""
    if len(value) < _RANDOM_LENGTH or _entropy(value) < _RANDOM_BITS:
        return False
    parts = re.split(r"[-_./]", value)
    if all(part.isalpha() or part.isdigit() or not part for part in parts):
        return False
    changes = len(re.findall(r"(?<=[A-Za-z])(?=\d)|(?<=\d)(?=[A-Za-z])", value))
    return changes >= _RANDOM_CHANGES


def _is_password(value: str) -> bool:
    """What a person would use: letters with digits, or three kinds of signs, and no code."""
    if _is_random(value):
        return True
    parts = re.split(r"[-_.]", value)
    slug = len(parts) >= _WORDS_IN_A_SLUG and all(
        part.isalpha() or part.isdigit() for part in parts
    )
    if slug or set(value) & _CODE or _NAMES.fullmatch(value):
        return False
    kinds = (
        any(char.islower() for char in value),
        any(char.isupper() for char in value),
        any(char.isdigit() for char in value),
        any(not char.isalnum() and char not in "-_." for char in value),
    )
    letters_and_digits = (kinds[0] or kinds[1]) and kinds[2]
    return letters_and_digits or (len(value) >= _PASSWORD_LENGTH and sum(kinds) >= _PASSWORD_KINDS)


def _entropy(value: str) -> float:
    size = len(value)
    return -sum(n / size * math.log2(n / size) for n in Counter(value).values())


@cache
def _rules() -> tuple[_Rule, ...]:
    # imported at the first save: detect-secrets brings the requests library along
    from importlib import import_module

    rules: list[_Rule] = []
    for module, plugin in _PLUGINS:
        detector = getattr(import_module(f"detect_secrets.plugins.{module}"), plugin)
        name = str(detector.secret_type).lower().replace(" ", "-")
        rules.extend(
            _Rule(name, pattern, _MARKS.get(module, ""), module in _WHOLE_TOKEN, module in _LOOSE)
            for pattern in detector.denylist
        )
    return tuple(rules)


@cache
def _jwt_check() -> Callable[[str], bool]:
    from detect_secrets.plugins.jwt import JwtTokenDetector  # as above

    check: Callable[[str], bool] = JwtTokenDetector.is_formally_valid
    return check
