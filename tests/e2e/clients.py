# SPDX-License-Identifier: Apache-2.0
"""Clients that people have, by name: the command in which each gets https://HOST/ and writes what came."""

PYTHON = "/usr/bin/python3 -c "
HTTPX = PYTHON + "'import httpx; r = httpx.get(\"https://HOST/\"); assert r.status_code == 200; print(r.text)'"
NODE_HTTPS = ("node -e 'require(\"https\").get(\"https://HOST/\", r => { if (r.statusCode != 200) throw r;"
              " r.on(\"data\", d => process.stdout.write(d)) })'")
PERL = ("perl -MLWP::UserAgent -e '$r = LWP::UserAgent->new->get(\"https://HOST/\");"
        " print $r->content; exit($r->code != 200)'")

CLIENTS = {
    "curl": "curl -sSf https://HOST/",
    "wget": "wget -nv -O- https://HOST/",
    "openssl": "printf 'GET / HTTP/1.0\\r\\nHost: HOST\\r\\n\\r\\n' | openssl s_client -quiet "
               "-verify_return_error -connect HOST:443 -servername HOST",
    "urllib": PYTHON + "'import urllib.request as u; print(u.urlopen(\"https://HOST/\").read())'",
    "requests": PYTHON + "'import requests; r = requests.get(\"https://HOST/\"); r.raise_for_status();"
                         " print(r.text)'",
    "httpx": HTTPX,
    "node fetch": "node -e 'fetch(\"https://HOST/\").then(r => r.text()).then(console.log)'",
    "node https": NODE_HTTPS,
    "undici": "NODE_PATH=/usr/share/nodejs node -e 'require(\"undici\").request(\"https://HOST/\")"
              ".then(r => r.body.text()).then(console.log)'",
    "perl": PERL,
    "ruby": "ruby -ropen-uri -e 'print URI.open(\"https://HOST/\").read'",
    "php": "php -r 'print file_get_contents(\"https://HOST/\") or exit(1);'",
}
