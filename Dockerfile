# Needs ISSUER: it listens for other machines, and permits name the address that verifiers know.
FROM node:22-bookworm-slim AS build
WORKDIR /src
COPY . .
RUN sh scripts/docker-build.sh out

FROM node:22-bookworm-slim
RUN install -d -o node -g node -m 700 /data
WORKDIR /app
COPY --from=build /src/out ./
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8787 DATA_DIR=/data
USER node
VOLUME /data
EXPOSE 8787
HEALTHCHECK --interval=10s --timeout=3s --start-period=90s --retries=3 CMD ["node", "server/healthy.mjs"]
ENTRYPOINT ["node", "server/dist/cli/main.js"]
CMD ["serve"]
