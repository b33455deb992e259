# Build:  docker build -t newrelic-apm-exporter .
# Try:    docker run --rm -p 9126:9126 newrelic-apm-exporter demo --web.listen-address=:9126
# Use:    docker run --rm -p 9126:9126 --read-only --cap-drop=ALL \
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
COPY --from=build /build/package.json /app/
COPY --from=build /build/dist /app/dist
COPY LICENSE /app/
# Where config.yaml is looked for; nothing is ever written, so the root file system may be read-only.
WORKDIR /etc/newrelic-apm-exporter
# A number, so that an orchestrator can see that it is not root.
USER 1000:1000
EXPOSE 9126
# With TLS, another port or a route prefix, set HEALTHCHECK_URL or override the check.
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s --retries=3 \
  CMD ["node", "-e", "fetch(process.env.HEALTHCHECK_URL ?? 'http://127.0.0.1:9126/-/healthy').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "/app/dist/main.js"]
