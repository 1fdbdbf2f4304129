# `meno serve` as an image: docs/server.md says how it is run.
#
#   docker build -t meno .
#   docker run -p 127.0.0.1:8080:8080 -v ./bot:/etc/meno:ro -v meno:/var/lib/meno meno
#
# /etc/meno has the model `bot.meno` and the file `tokens`, which must be the user's of the image (`chown 65532 bot/tokens`): `meno token`
# makes it for whoever types it, and leaves one that is there to its owner. /var/lib/meno has what was taught.

FROM rust:1.95-slim-bookworm AS build
WORKDIR /src
COPY . .
RUN cargo build --profile dist --locked --features postgres \
 && install -D target/dist/meno /out/usr/local/bin/meno \
 && install -d -m 700 /out/var/lib/meno

# The C library and the authorities that the system trusts, without a shell.
FROM gcr.io/distroless/cc-debian12:nonroot
COPY --from=build /out/usr/local/bin/meno /usr/local/bin/meno
COPY --from=build --chown=65532:65532 /out/var/lib/meno /var/lib/meno
USER 65532:65532
VOLUME /var/lib/meno
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 CMD ["/usr/local/bin/meno", "health", "127.0.0.1:9090"]
ENTRYPOINT ["/usr/local/bin/meno"]
CMD ["serve", "/etc/meno/bot.meno", "--store", "/var/lib/meno/concepts.db", "--tokens", "/etc/meno/tokens", "--listen", "0.0.0.0:8080", "--admin-listen", "127.0.0.1:9090"]
