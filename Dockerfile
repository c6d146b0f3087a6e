# OneClaw with its usual plugins and Telegram; see docs/deployment.md.
#   podman build --format docker --tag oneclaw .
FROM python:3.13-slim AS build

COPY . /source
RUN python -m venv /opt/oneclaw \
    && /opt/oneclaw/bin/pip install --no-cache-dir /source \
        $(for name in agents anthropic chain channels checkpoints config files gemini http_providers javascript mcp memory \
            offline openai pdf postgres scheduled_tasks search serve setup shell skills telegram web; do echo "/source/plugins/$name"; done)

FROM python:3.13-slim

COPY --from=build /opt/oneclaw /opt/oneclaw
RUN useradd --uid 1000 --create-home --shell /usr/sbin/nologin oneclaw \
    && install --directory --owner oneclaw --mode 700 /data
ENV PATH=/opt/oneclaw/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    ONECLAW_HOME=/data \
    ONECLAW_SERVE_SHOWS_LINK=false
USER 1000:1000
WORKDIR /home/oneclaw
VOLUME /data
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8311/health', timeout=4)"]
ENTRYPOINT ["oneclaw"]
CMD ["serve"]
