/** What stands before the tables of docs/configuration.md. */
export const CONFIGURATION_HEAD = `# Configuration

<!-- Generated from src/config by "npm run generate". Do not edit. -->

The file is YAML 1.2 in UTF-8. [\`config.example.yaml\`](../config.example.yaml) shows every key;
[\`configuration.schema.json\`](configuration.schema.json) lets editors complete and check them.

## A first file

\`newrelic-apm-exporter init\` writes one for what your key sees. Or copy this, and let
\`newrelic-apm-exporter check --live\` say whether it is right:

\`\`\`yaml
accounts:
  - name: production # the label "account" of every series
    region: us # or eu, gov, jp
    account_id: 1234567 # may be left out where the key sees one account
    api_key: \${NEW_RELIC_API_KEY} # a user key; or api_key_file with the name of a file
    applications:
      exclude: [{ name: '*-staging' }] # without this: all of them
    hosts: true # the series of each host
    key_transactions: true
    counters: true # for rate() and service levels
    query_packs: [alert_events] # the open alert events of New Relic
\`\`\`

## Placeholders on this page

| Placeholder | What to write |
| --- | --- |
| \`<boolean>\` | \`true\` or \`false\` |
| \`<column>\` | the key of a value in the rows of a query: its alias, or as New Relic names it |
| \`<DOMAIN-TYPE>\` | a type of entity in capitals, such as \`EXT-SERVICE\`; \`newrelic-apm-exporter discover --entities\` lists those of the account |
| \`<duration>\` | whole numbers with units, largest unit first, each at most once: \`d\`, \`h\`, \`m\`, \`s\`, \`ms\`; such as \`30s\`, \`5m\`, \`1h30m\`, \`500ms\`, \`0s\`; at most \`24d\`, unless its key says more |
| \`<glob>\` | a pattern for the whole name: \`*\` is any run of characters (also none), \`?\` is one, the rest is literal (\`.\`, \`[\` and \`+\` too), case counts |
| \`<hostname>\` | a DNS name, such as \`api.example\` |
| \`<int>\` | a whole number |
| \`<label_name>\` | letters, digits and \`_\`, no digit first, not \`__\` first, none of the exporter's own labels (see [metrics.md](metrics.md)) nor \`job\`, \`instance\`, \`le\`, \`quantile\`; the facets of a query may be called as the exporter's own labels, except \`account\`, \`percentile\` and the static labels of the account |
| \`<match>\` | a mapping with exactly one key: \`name: <glob>\` or \`id: <int>\` |
| \`<application_match>\` | a mapping: \`id: <int>\` alone, or \`name: <glob>\`, \`tag: <string>\` (not with \`api: rest\`; the key of a tag, whose case does not count) or both; beside \`tag\`, \`value: <glob>\` for any of its values |
| \`<entity_match>\` | a mapping: \`name: <glob>\`, \`tag: <string>\` or both, as of an application |
| \`<metric_name>\` | letters, digits and \`_\`, no digit first |
| \`<nrql>\` | a query in New Relic's language ([queries.md](queries.md#write-one)) |
| \`<number>\` | a finite number |
| \`<path>\` | a file name; a relative one is relative to the folder of the configuration file |
| \`<secret>\` | text that is never shown: \`/config\` and the logs say \`<secret>\` in its place |
| \`<string>\` | text; what YAML would read as a number, true, false or nothing must stand in quotes |
| \`<template>\` | segments between slashes: literal, \`{label}\` (captures one segment), \`*\` (any one segment), or at the end \`**\` (the rest) |
| \`<url>\` | \`https://host[:port][/path]\`, REST: with or without \`/v2\` at its end, NerdGraph: ending in \`/graphql\`; no user name, query or fragment |
| \`<value_name>\` | one of the names that \`newrelic-apm-exporter metric-names\` shows for the metric; with NerdGraph, one that it has for metrics of this kind |

## Values from the environment

In any text value, \`\${NAME}\` is replaced by the environment variable \`NAME\`, and \`\${NAME:-default}\` by \`default\` when the
variable is not set or empty. A variable that is not set and has no default is an error. \`$\${\` stands for a literal \`\${\`.

- An unquoted value gets its type after the replacement: \`requests_per_minute: \${RPM:-300}\` is a number.
- A variable never becomes a key, a list or a mapping. A default cannot hold another \`\${\`.
- Inside \`[ ]\` and \`{ }\`, YAML itself wants a placeholder in quotes: \`{team: "\${TEAM}"}\`.

## Where the configuration comes from

1. The file named with \`--config.file\`, which must then exist.
2. Otherwise \`config.yaml\` in the working directory, where there is one.
3. Otherwise the environment, when it has a key. There is then one account named \`default\`, and every other key has its default:

| Variable | Meaning |
| --- | --- |
| \`NEW_RELIC_API_KEY\` | the key; this or the next |
| \`NEW_RELIC_API_KEY_FILE\` | a file that holds the key; read again when it changes |
| \`NEW_RELIC_REGION\` | \`us\` (the default), \`eu\`, \`gov\` or \`jp\` |
| \`NEW_RELIC_API\` | \`nerdgraph\` (the default) or \`rest\` |
| \`NEW_RELIC_ACCOUNT_ID\` | the number of the account; may be left out where the key sees one account only |

## Faults

\`newrelic-apm-exporter check\` prints every fault (the first 100) as \`file:line:column: path: message\`; the exit status is 0 when there
is none, else 2. Faults are: keys that do not exist, stand twice or exclude each other, values of a wrong type or out of their range, environment
variables that are not set, key or certificate files that cannot be used, and texts that are published or sent (names, labels, HELP,
queries) and hold a configured key, or 12 characters of one in a row. Anchors and aliases work; merge keys (\`<<\`) are not
part of YAML 1.2 and do not.

No fault repeats a value of the file, which could be a key. The path says \`<hidden>\` in the place of a key that is not plainly a name.

What is likely a mistake is a warning, and the exit status stays 0: a key that is no user key, \`query_files\` that match no file or have a \`\${...}\`,
\`requests_per_minute\` above what New Relic allows an account (not with \`base_url\`), and with NerdGraph a \`request_timeout\` under 7s or \`api_key_header: X-Api-Key\`.

A change takes effect with a [reload](interface.md#reload).`;
