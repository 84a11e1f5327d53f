# Needs ISSUER: it listens for other machines, and permits name the address that verifiers know.

# The build runs on the machine that builds, whatever the image is for: only the native part of libsql differs.
FROM --platform=$BUILDPLATFORM node:24.21.0-bookworm-slim AS build
ARG TARGETARCH
WORKDIR /src
COPY . .
RUN sh scripts/docker-build.sh out

FROM node:24.21.0-bookworm-slim
LABEL org.opencontainers.image.title="Countersign" \
  org.opencontainers.image.description="An authorization service for AI agents: policies, budgets, reviews, permits and an audit log." \
  org.opencontainers.image.source="https://github.com/countersign/countersign" \
  org.opencontainers.image.documentation="https://github.com/countersign/countersign/blob/main/docs/operations.md" \
  org.opencontainers.image.licenses="Apache-2.0"
# The server needs node alone. What installs packages has vulnerabilities that would have to be looked at.
RUN rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack /usr/local/bin/yarn /usr/local/bin/yarnpkg /opt/yarn-*
RUN install -d -o 1000 -g 1000 -m 700 /data
WORKDIR /app
COPY --from=build /src/out ./
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8787 DATA_DIR=/data
# A number, so that Kubernetes sees that it is not root.
USER 1000:1000
VOLUME /data
EXPOSE 8787
HEALTHCHECK --interval=10s --timeout=3s --start-period=90s --retries=3 CMD ["node", "server/healthy.mjs"]
ENTRYPOINT ["node", "server/bin/countersign.js"]
CMD ["serve"]
