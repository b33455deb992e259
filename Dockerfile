# Build:  docker build -t newrelic-apm-exporter .
# Try:    docker run --rm -p 9126:9126 newrelic-apm-exporter demo --web.listen-address=:9126
# Use:    docker run --rm -p 9126:9126 --read-only --cap-drop=ALL --security-opt=no-new-privileges \
#           -v "$PWD/config.yaml:/etc/newrelic-apm-exporter/config.yaml:ro" newrelic-apm-exporter
# Edit: nothing. To pin the base image to one digest, once you know it from your registry:
#           npm run pin -- node:24-bookworm-slim sha256:<digest>

FROM node:24-bookworm-slim AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
RUN ["npm", "ci", "--ignore-scripts"]
COPY tsconfig.json ./
COPY scripts/build.ts ./scripts/
COPY src ./src
COPY simulator ./simulator
COPY packs ./packs
RUN ["npm", "run", "build"]

FROM node:24-bookworm-slim
ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title="newrelic-apm-exporter" \
      org.opencontainers.image.description="Prometheus exporter for New Relic APM, read through NerdGraph or the REST API v2" \
      org.opencontainers.image.source="https://github.com/newrelic-apm-exporter/newrelic-apm-exporter" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
ENV NODE_ENV=production REVISION=${REVISION}
# The program needs Node.js alone: what installs further code is of use only to somebody who has broken in.
RUN rm -rf /usr/local/lib/node_modules /opt/yarn* /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack \
      /usr/local/bin/yarn /usr/local/bin/yarnpkg
COPY --from=build /build/package.json /app/
COPY --from=build /build/dist /app/dist
COPY packs /app/packs
COPY LICENSE /app/
# Where config.yaml is looked for; nothing is ever written, so the root file system may be read-only.
WORKDIR /etc/newrelic-apm-exporter
# A number, so that an orchestrator can see that it is not root.
USER 1000:1000
EXPOSE 9126
# Works with TLS and with passwords: this path needs none, and the certificate of our own loopback address is not judged.
# With another port or a route prefix, set HEALTHCHECK_URL; where clients need a certificate, override the check.
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s --retries=3 \
  CMD ["node", "-e", "const own = '://127.0.0.1:9126/-/healthy'; const ask = ([url, ...others]) => url === undefined ? process.exit(1) : require(url.split(':')[0]).get(url, { rejectUnauthorized: false }, (answer) => process.exit(answer.statusCode === 200 ? 0 : 1)).on('error', () => ask(others)); ask(process.env.HEALTHCHECK_URL ? [process.env.HEALTHCHECK_URL] : ['https' + own, 'http' + own])"]
# SIGUSR1 would open Node's debugger before the program ignores it.
ENTRYPOINT ["node", "--disable-sigusr1", "/app/dist/main.js"]
