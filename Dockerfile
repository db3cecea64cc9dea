# The command alone, static: for an operator's ls, doctor, migrate and release, and to be copied into the image of a job:
#
#   COPY --from=rowlock /rowlock /usr/local/bin/rowlock
#
# docker build --build-arg VERSION=$(git describe --tags --always) -t rowlock .
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
ARG TARGETOS TARGETARCH VERSION
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -buildvcs=false -tags grpcnotrace \
    -ldflags "-s -w -X github.com/rowlock/rowlock/internal/cli.released=$VERSION" -o /out/rowlock ./cmd/rowlock

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/rowlock /rowlock
USER 65532:65532
ENTRYPOINT ["/rowlock"]
