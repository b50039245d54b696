# Steward's image: the pinned packages and the program, run by a user without rights. Host and worker are two commands.

FROM python:3.11.14-slim-bookworm AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_NO_INPUT=1
RUN python -m venv /opt/steward
WORKDIR /build
COPY requirements/run.txt requirements/run.txt
RUN /opt/steward/bin/pip install --require-hashes -r requirements/run.txt
COPY pyproject.toml worker.py ./
COPY domain domain
COPY contracts contracts
COPY workflows workflows
COPY activities activities
COPY store store
COPY assistant assistant
COPY adapters adapters
COPY runtime runtime
COPY host host
RUN /opt/steward/bin/pip install --no-deps --no-build-isolation .

FROM python:3.11.14-slim-bookworm
RUN groupadd --gid 10001 steward \
    && useradd --uid 10001 --gid steward --home-dir /var/lib/steward --shell /usr/sbin/nologin steward \
    && install -d -o steward -g steward -m 0700 /var/lib/steward
COPY --from=build /opt/steward /opt/steward
ENV PATH=/opt/steward/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    STEWARD_HOME=/var/lib/steward \
    STEWARD_LOG_FORMAT=json
USER 10001:10001
WORKDIR /var/lib/steward
VOLUME /var/lib/steward
EXPOSE 18000
CMD ["steward", "host"]
