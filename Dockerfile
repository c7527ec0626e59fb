# The book's notebooks in JupyterLab, for Binder (repo2docker takes this file) and for anyone with docker:
#   docker build -t lnlib-book . && docker run --rm -p 8888:8888 lnlib-book
# Pages are read and run here, not rendered: Chromium, Sphinx's checks and the tests are for `make`.
FROM python:3.11.14-slim-bookworm

# Binder says who runs the server; everybody else gets the same.
ARG NB_USER=jovyan
ARG NB_UID=1000
ENV USER=${NB_USER} NB_UID=${NB_UID} HOME=/home/${NB_USER} PIP_NO_CACHE_DIR=1
RUN adduser --disabled-password --gecos "Reader of the book" --uid ${NB_UID} ${NB_USER}
WORKDIR ${HOME}

# The dependencies, at the versions that the book was executed with, and the packages from the copy itself.
COPY --chown=${NB_UID} . ${HOME}
RUN pip install -c constraints.txt -e . -e './book[build,binder]'

USER ${NB_USER}
EXPOSE 8888
CMD ["jupyter", "lab", "--ip=0.0.0.0", "--no-browser"]
