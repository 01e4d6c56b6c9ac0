import base64
import hashlib
import json
import random
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memsvc.notes.secrets import find_secret

HEX = "0123456789abcdef"
LOWER = string.ascii_lowercase + string.digits
UPPER = string.ascii_uppercase + string.digits
ANY = string.ascii_letters + string.digits


def made(alphabet: str, size: int) -> str:
    """Random text that surely has letters and digits in turn; no scanner finds it in this file."""
    source = random.Random(f"{alphabet}{size}")  # noqa: S311 - not for security
    return ("".join(source.choice(alphabet) for _ in range(size)) + "a1b2c3d4")[-size:]


def capital(size: int) -> str:
    return made(UPPER, size).upper()


def token() -> str:
    parts = (
        {"alg": "HS256", "typ": "JWT"},
        {"sub": "1234567890", "name": "Ann", "iat": 1516239022},
    )
    coded = [
        base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts
    ]
    return ".".join([*coded, made(ANY, 43)])


SECRETS = {
    "aws id": "AKIA" + capital(16),
    "aws temporary id": "see ASIA" + capital(16) + " for it",
    "aws key": "aws_secret_access_key = '" + made(ANY, 40) + "'",
    "aws key, plain": "AWS_SECRET_ACCESS_KEY=" + made(ANY, 40),
    "github": "gh" + "p_" + made(ANY, 36),
    "github app": "use gh" + "s_" + made(ANY, 36) + ".",
    "github fine-grained": "github" + "_pat_" + made(ANY, 60),
    "gitlab": "gl" + "pat-" + made(ANY, 20),
    "slack bot": "xo" + "xb-123456789012-123456789012-" + made(ANY, 24),
    "slack hook": "https://hooks.slack" + ".com/services/T0001/B0001/" + made(ANY, 24),
    "stripe": "sk" + "_live_" + made(ANY, 24),
    "stripe, long": "rk" + "_live_" + made(ANY, 99),
    "stripe test": "sk" + "_test_" + made(ANY, 24),
    "twilio": "A" + "C" + made(HEX, 32),
    "sendgrid": "S" + "G." + made(ANY, 22) + "." + made(ANY, 43),
    "mailchimp": made(HEX, 32) + "-u" + "s12",
    "openai": "sk-" + made(ANY, 20) + "T3Blbk" + "FJ" + made(ANY, 20),
    "openai project": "sk-" + "proj-" + made(ANY, 64),
    "anthropic": "sk-" + "ant-api03-" + made(ANY, 80),
    "google": "AI" + "za" + made(ANY, 35),
    "hugging face": "h" + "f_" + made(ANY, 34),
    "npm": "np" + "m_" + made(ANY, 36),
    "npmrc": "//registry.npmjs.org/:_auth" + "Token=np" + "m_" + made(ANY, 36),
    "pypi": "pypi-AgEIcHlwaS5" + "vcmc" + made(ANY, 80),
    "azure": "Account" + "Key=" + made(ANY, 86) + "==",
    "telegram": "123456789:" + made(ANY, 35),
    "discord": "M" + made(ANY, 24) + "." + made(ANY, 6) + "." + made(ANY, 27),
    "square": "sq0" + "csp-" + made(ANY, 43),
    "vault": "hv" + "s." + made(ANY, 24),
    "jwt": "Cookie: " + token(),
    "private key": f"-----BEGIN RSA PRIVATE {'KEY'}-----\n" + made(ANY, 64) + "\n-----END",
    "encrypted key": f"-----BEGIN ENCRYPTED PRIVATE {'KEY'}-----\n" + made(ANY, 64),
    "openssh key": f"> -----BEGIN OPENSSH PRIVATE {'KEY'}-----\n> " + made(ANY, 70),
    "url": "postgres://app:" + made(ANY, 12) + "@db.internal:5432/heron",
    "url without user": "redis://:" + made(ANY, 12) + "@cache:6379",
    "bearer": "curl -H 'Authorization: " + "Bearer " + made(ANY, 40) + "'",
    "basic": "Authorization: " + "Basic " + base64.b64encode(b"ann:s3cretw0rd9").decode(),
    "api key": "api_" + "key = " + made(ANY, 32),
    "api key in words": "The API " + "key is `" + made(ANY, 32) + "`",
    "api key in yaml": "apiKey: '" + made(HEX, 32) + "'",
    "client secret": "client_" + "secret: " + made(ANY, 40),
    "environment": "HERON_SECRET_" + "KEY_BASE=" + made(HEX, 64),
    "bold": "**Access " + "token:** " + made(ANY, 40),
    "table": "| token | " + made(ANY, 40) + " |",
    "password": "pass" + "word: hunt" + "er2",
    "password in words": "Her pass" + "word is Sommer" + "2024!",
    "password in code": 'db_pass' + 'word="Tr0ub4' + 'dor&3"',
    "camel case": "dbPass" + "word = 'x9Kq" + "mW27'",
}  # fmt: skip


@pytest.mark.parametrize("text", SECRETS.values(), ids=SECRETS.keys())
def test_a_credential_is_found_and_its_value_not_named(text: str) -> None:
    rule = find_secret(f"# Notes\n\nSome words before.\n{text}\nand after.")
    assert rule is not None
    assert set(rule) <= set(string.ascii_lowercase + "-")
    assert find_secret("# Notes\n\nSome words before.\n\nand after.") is None


def digest(name: str, text: str) -> str:
    return hashlib.new(name, text.encode(), usedforsecurity=False).hexdigest()


INNOCENT = [
    f"commit {digest('sha1', 'a')} fixed it",
    f"see {digest('sha1', 'b')[:12]} and {digest('sha1', 'c')[:7]}",
    f"sha256:{digest('sha256', 'a')}",
    f"checksum is {digest('sha256', 'b')}",
    f"md5 {digest('md5', 'c')}",
    f"the cache key is {digest('sha1', 'd')}",
    f"sha512-{base64.b64encode(hashlib.sha512(b'x').digest()).decode()}",
    "id 01KBA7ZD5QX4T9W2M3N8R6C0VE",
    "123e4567-e89b-12d3-a456-426614174000",
    "session token: 123e4567-e89b-12d3-a456-426614174000",
    "![pic](data:image/png;base64," + base64.b64encode(bytes(range(200))).decode() + ")",
    "password: see 1Password",
    "password: 1Password",
    "token: see vault",
    "token: ${HERON_TOKEN}",
    "TOKEN=$HERON_TOKEN2",
    "api_key: <your-key-here-123456>",
    "api_key = os.environ['HERON_API_KEY_2']",
    "api_key = settings.heron_api_key_v2",
    "api_key: HERON_API_KEY_V2",
    "API key: your-api-key-1234567890ab",
    "AKIAIOSFODNN7EXAMPLE is the documented example",
    "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "ghp_" + "x" * 36,
    "gh" + "p_" + "0" * 36,
    "The password is required and has at least 12 characters.",
    "password is base64-encoded with SHA-256",
    "Passwords are hashed: argon2id, never bcrypt.",
    "password: Optional[str] = None",
    "password = getpass.getpass()",
    "password: string",
    "password: see-issue-142",
    "password=********",
    "the secret is kept in /run/secrets/db_password_v2",
    "secret: op://vault/heron/password1",
    "private key: ~/.ssh/id_ed25519",
    "The file begins with -----BEGIN RSA PRIVATE " + "KEY-----, so it is PEM.",
    "token_type: bearer",
    "Bearer tokens are refused with 401.",
    "max_tokens = 4096 and token budget: 2000",
    "Tokenizer: sentence-transformers/all-MiniLM-L6-v2",
    "https://user@example.com/path?token=abc and https://a.example:8080/x@y",
    "postgres://user:password@localhost/db",
    "postgres://app:${DB_PASSWORD}@db/heron",
    "mailto:ann@example.com, ssh://git@host:22/repo.git",
    "https://heron.example/a/b/c?id=9f8e7d6c5b4a39281706f5e4d3c2b1a0",
    "The secret of good notes is brevity: 3 sentences.",
    "sk-learn is scikit-learn; task-force-one-two-three-four-five-six-seven-8",
    "AP stands for access point; APIGateway2 and ACCESS are words",
    "eyJ is how JWTs begin; eyJhbGci.short",
    "keys: heron-release-2026-03-12-final-candidate-build-number",
    "xoxo and hf_models/mini",
    "blob X" + "AKIA" + capital(16) + " and " + "AKIA" + capital(16) + "MORE",
    "eyJhbGciabcdefgh.eyJzdWIabcdefgh.signature",
    "The token count is 123456789012.",
    "credentials: heron-prod-readonly-user-account",
    "/nix/store/0c1k2j3h4g5f6d7s8a9q0w1e2r3t4y5u-hello-2.12",
    "sha: W/\"33a64df551425fcc55e4d42a148795d9f25f89d4\"",
    "UserAuthenticationTokenFactoryBean2 is in src/v2/auth/token_factory2.py",
    "発売は3月12日、パスワード: 管理者に聞く",
    "",
]  # fmt: skip


@pytest.mark.parametrize("text", INNOCENT)
def test_innocent_text_is_let_through(text: str) -> None:
    assert find_secret(text) is None
    assert find_secret(f"{text}\n{SECRETS['stripe']}") is not None


def test_a_secret_is_found_wherever_it_stands_in_a_long_text() -> None:
    filler = "Words and numbers 12 stand here.\n" * 400
    for name in ("aws id", "telegram", "sendgrid", "password", "jwt", "azure"):
        for cut in (0, 4000, 3584, 3500, 7000, len(filler)):
            assert find_secret(f"{filler[:cut]} {SECRETS[name]} {filler[cut:]}") is not None, (
                name,
                cut,
            )
    assert find_secret(filler) is None


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=200))
def test_any_text_can_be_searched(text: str) -> None:
    find_secret(text)
    assert find_secret(f"{text}\n\n{SECRETS['openai']}\n") is not None


@pytest.mark.parametrize(
    "unit",
    ["a", "eyJ", "eyJa.", "://a:", "//", "_authToken=", "passwd=", "api_key:", "a_", "- ", "sk-", "BEGIN PRIVATE KEY",
     "aws key ", "1234567890:", "AC", "token ", "0123456789abcdef", "bearer ", "M", "."],
)  # fmt: skip
def test_hostile_text_is_searched_in_linear_time(unit: str) -> None:
    find_secret(unit * (100_000 // len(unit)))
    assert find_secret(f"{SECRETS['github']} {unit * (100_000 // len(unit))}") is not None
