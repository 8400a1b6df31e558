#!/bin/sh
# Makes vendor/codemirror.js again, with Node and the registry of npm; building Inlay needs neither.
# The versions are those of vendor/package-lock.json, so that the bundle comes out the same; its hash stands in vendor/README.md.
# To take newer ones: npm update in a folder with vendor/package.json, and copy its package.json and package-lock.json here.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$here/vendor/package.json" "$here/vendor/package-lock.json" "$here/vendor/codemirror.entry.js" "$work"
cd "$work"
npm ci --no-audit --no-fund --ignore-scripts
node_modules/.bin/esbuild codemirror.entry.js --bundle --minify --format=esm --target=es2022 --legal-comments=none --outfile="$here/vendor/codemirror.js"

# The licences of what is in it: one text for all of these packages, by two groups of authors, and one each for the others.
: > "$here/vendor/LICENSES.txt"
{
    printf '# What is in the page that others wrote\n\nMade by `server/page/vendor.sh`; the licences are in [LICENSES.txt](LICENSES.txt).\n\n| package | version | licence |\n|---|---|---|\n'
    for package in $(cd node_modules && ls -d @codemirror/* @lezer/* @marijn/* crelt style-mod w3c-keyname); do
        node -e "const p = require('./node_modules/$package/package.json'); console.log('| ' + p.name + ' | ' + p.version + ' | ' + p.license + ' |')"
        { printf '%s\n\n' "== $package =="; cat "node_modules/$package"/LICENSE*; printf '\n'; } >> "$here/vendor/LICENSES.txt"
    done
    printf '\n`codemirror.js`, bundled by esbuild %s: %s bytes, SHA-256 `%s`.\n' "$(node -p "require('./node_modules/esbuild/package.json').version")" \
        "$(wc -c < "$here/vendor/codemirror.js")" "$(sha256sum "$here/vendor/codemirror.js" | cut -d' ' -f1)"
} > "$here/vendor/README.md"
