/** The part of docs/configuration.md before the keys. */
export const CONFIGURATION_HEAD = `# Configuration

<!-- Generated from src/config by "npm run generate". Do not edit. -->

The file is YAML 1.2 in UTF-8. [\`config.example.yaml\`](../config.example.yaml) shows every key;
[\`configuration.schema.json\`](configuration.schema.json) lets editors complete and check them. Blocks under a key of
\`accounts[]\` are parts of an account.

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
    # The open alert events of New Relic. A read each 5 minutes, of 30 days: 8,640 minutes of data per minute, which
    # compute pricing bills.
    #query_packs: [alert_events]
\`\`\`

## Placeholders on this page

- \`<boolean>\`: \`true\` or \`false\`
- \`<column>\`: the key of a value in the rows of a query: its alias, or as New Relic names it
- \`<DOMAIN-TYPE>\`: a type of entity, such as \`EXT-SERVICE\`; \`newrelic-apm-exporter discover --entities\` lists those of the account
- \`<duration>\`: whole numbers with the units \`d\`, \`h\`, \`m\`, \`s\`, \`ms\`, largest first, each at most once, such as \`1h30m\` or \`0s\`; at most
  \`24d\`, unless its key says more
- \`<glob>\`: a pattern for the whole name: \`*\` is any run of characters (also none), \`?\` is one, the rest is literal, case counts
- \`<hostname>\`: a DNS name, such as \`api.example\`
- \`<int>\`: a whole number
- \`<number>\`: a finite number
- \`<label_name>\`: letters, digits and \`_\`, no digit first, not \`__\` first; no label of the exporter ([metrics.md](metrics.md)), nor
  \`job\`, \`instance\`, \`le\`, \`quantile\`. Facets of a query may have the exporter's names, except \`account\`, \`percentile\` and
  the static labels of the account
- \`<match>\`: a mapping with exactly one key: \`name: <glob>\` or \`id: <int>\`
- \`<application_match>\`: a mapping: \`id: <int>\` alone, or \`name: <glob>\`, \`tag: <string>\` (not with \`api: rest\`; the key of a tag,
  whose case does not count) or both; beside \`tag\`, \`value: <glob>\` for any of its values
- \`<entity_match>\`: the same without \`id\`
- \`<metric_name>\`: letters, digits and \`_\`, no digit first
- \`<nrql>\`: a query in New Relic's language ([queries.md](queries.md#write-one))
- \`<path>\`: a file name; a relative one is relative to the folder of the configuration file
- \`<secret>\`: text that \`/config\` and the logs show as \`<secret>\`
- \`<string>\`: text; what YAML would read as a number, true, false or nothing must stand in quotes
- \`<template>\`: segments between slashes: literal, \`{label}\` (captures one segment), \`*\` (any one segment), or at the end \`**\` (the rest)
- \`<url>\`: \`https://host[:port][/path]\` without user name, query or fragment
- \`<value_name>\`: one of the [values of custom metrics](metrics.md#values-of-custom-metrics)

## Values from the environment

In any text value, \`\${NAME}\` is replaced by the environment variable \`NAME\`, and \`\${NAME:-default}\` by \`default\` when the variable is not set or empty. A variable that is not set and has no default is an error. \`$\${\` stands for a literal \`\${\`.

- An unquoted value gets its type after the replacement: \`requests_per_minute: \${RPM:-300}\` is a number.
- A variable never becomes a key, a list or a mapping. A default cannot hold another \`\${\`.
- Inside \`[ ]\` and \`{ }\`, YAML itself wants a placeholder in quotes: \`{team: "\${TEAM}"}\`.

## Where the configuration comes from

1. The file named with \`--config.file\`, which must then exist.
2. Otherwise \`config.yaml\` in the working directory, where there is one.
3. Otherwise the environment, when it has a key: one account named \`default\`, with all defaults, and these variables:
   - \`NEW_RELIC_API_KEY\`, or \`NEW_RELIC_API_KEY_FILE\`: the key, or a file that holds it and is read again when it changes
   - \`NEW_RELIC_REGION\`: \`us\` (the default), \`eu\`, \`gov\` or \`jp\`
   - \`NEW_RELIC_API\`: \`nerdgraph\` (the default) or \`rest\`
   - \`NEW_RELIC_ACCOUNT_ID\`: the number of the account; may be left out where the key sees one account only

   White space around their values does not count.

A change takes effect with a [reload](reference.md#reload).

## Faults

\`newrelic-apm-exporter check\` prints every fault (the first 100) as \`file:line:column: path: message\`: keys that do not exist, stand
twice or exclude each other; values of a wrong type or out of their range; environment variables that are not set; key or
certificate files that cannot be used; and texts that are published or sent (names, labels, HELP, queries) and hold a configured key, or
12 characters of one in a row. Anchors and aliases work; merge keys (\`<<\`) are not part of YAML 1.2 and do not.

No fault repeats a value of the file, which could be a key, nor a key that is not plainly a name (\`<hidden>\`).

A warning is likely a mistake: a key that is not a user key, \`query_files\` that match no file or have a \`\${...}\`,
a \`ca_file\` whose authorities have all expired, an entry of \`NO_PROXY\` that is not understood,
\`requests_per_minute\` above what New Relic allows an account (not with \`base_url\`), and with NerdGraph a \`request_timeout\` under 7s or
\`api_key_header: X-Api-Key\`.`;
