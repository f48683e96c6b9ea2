"""Programs that reach other machines: to list one is to allow that, and to write what comes back."""

from toolwright.builtin.bash._grammar import program
from toolwright.builtin.bash.readers._builtins import read_ssh

__all__ = ["PROGRAMS"]

PROGRAMS = [
    *program("curl", "-# --progress-bar, -0 --http1.0, -4 --ipv4, -6 --ipv6, -A --user-agent=, -a --append, "
             "-b --cookie=, -c --cookie-jar=, -C --continue-at=, --compressed, --connect-timeout=, "
             "--connect-to=, --create-dirs, -d --data --data-ascii=, --data-binary=, --data-raw=, "
             "--data-urlencode=, -D --dump-header=, -e --referer=, --cacert=, --capath=, "
             "-f --fail, --fail-with-body, -F --form=, --form-string=, -g --globoff, -G --get, -H --header=, "
             "-h --help, --http1.1, --http2, -i --include, -I --head, -j --junk-session-cookies, "
             "-J --remote-header-name, --json=, -k --insecure, --keepalive-time=, -l --list-only, "
             "-L --location, --limit-rate=, -m --max-time=, --max-filesize=, --max-redirs=, -n --netrc, "
             "--netrc-file=, -N --no-buffer, --no-progress-meter, --noproxy=, -o --output=, --output-dir=, "
             "-O --remote-name, --remote-name-all, --parallel, --path-as-is, --post301, --post302, "
             "--proto=, --proto-redir=, --resolve=, -q --disable, -r --range=, -R --remote-time, "
             "--request-target=, --retry=, --retry-all-errors, --retry-delay=, --retry-max-time=, "
             "-s --silent, -S --show-error, --ssl-reqd, --stderr=, -T --upload-file=, --tcp-nodelay, "
             "--tls-max=, --tlsv1.2, --tlsv1.3, --trace=, --trace-ascii=, --trace-time, -u --user=, "
             "--oauth2-bearer=, --url=, -v --verbose, -V --version, -w --write-out=, -x --proxy=, "
             "-X --request=, -z --time-cond=", base="network", executes="--engine=",
             config="-K --config=, -E --cert=, --key=",
             attaches=False, quiet=("-q",)),
    *program("dig host nslookup whois", base="network", anything=True),
    *program("ping ping6 traceroute", "-46AbnqvU, -c=, -i=, -I=, -m=, -s=, -t=, -w=, -W=", base="network"),
    *program("scp", "-346BCOpqrRTv, -c=, -i=, -l=, -P=, -X=", base="network",
             executes="-S=, -D=, -J=", config="-o=, -F="),
    *program("ssh", "-46AaCfGgKkMNnqsTtVvXxYy, -B=, -b=, -c=, -D=, -e=, -i=, -L=, -m=, -O=, -p=, "
             "-Q=, -R=, -W=, -w=", base="network", executes="-I=, -S=, -J=", config="-o=, -F=, -E=, -l=",
             command=1, reader=read_ssh),
    *program("wget", "-V --version, -h --help, -q --quiet, -v --verbose, -nv --no-verbose, -i --input-file=, "
             "-t --tries=, -O --output-document=, -nc --no-clobber, --no-netrc, -c --continue, --start-pos=, "
             "--progress=, --show-progress, -N --timestamping, -S --server-response, --spider, "
             "-T --timeout=, --dns-timeout=, --connect-timeout=, --read-timeout=, -w --wait=, "
             "--waitretry=, --random-wait, --no-proxy, -Q --quota=, --bind-address=, --limit-rate=, "
             "--no-dns-cache, -4 --inet4-only, -6 --inet6-only, --user=, --password=, --no-iri, -nd "
             "--no-directories, -x --force-directories, -nH --no-host-directories, "
             "--protocol-directories, -P --directory-prefix=, --cut-dirs=, --default-page=, "
             "-E --adjust-extension, --http-user=, --http-password=, --no-cache, --no-cookies, "
             "--load-cookies=, --save-cookies=, --header=, --compression=, --max-redirect=, --referer=, "
             "-U --user-agent=, --no-http-keep-alive, --post-data=, --post-file=, --method=, --body-data=, "
             "--body-file=, --content-disposition, --content-on-error, --trust-server-names, "
             "--secure-protocol=, --https-only, --no-check-certificate, --certificate=, "
             "--private-key=, --ca-certificate=, --ca-directory=, -r --recursive, -l --level=, "
             "--delete-after, -k --convert-links, -K --backup-converted, -m --mirror, "
             "-p --page-requisites, -A --accept=, -R --reject=, -D --domains=, --exclude-domains=, "
             "-H --span-hosts, -L --relative, -I --include-directories=, -X --exclude-directories=, "
             "-np --no-parent, -o --output-file=, -a --append-output=, --no-config", base="network",
             executes="-e --execute=, --use-askpass=", config="--config=",
             quiet=("--no-config",)),
]  # fmt: skip
