# The image of a student's server for Zero to JupyterHub. Built from the root of the repository:
#   docker build -f binder/classroom.Dockerfile -t REGISTRY/tensorviz:VERSION .
# (Not called Dockerfile: Binder would build it instead of requirements.txt.)
FROM quay.io/jupyter/minimal-notebook:python-3.12
COPY --chown=${NB_UID}:${NB_GID} . /tmp/tensorviz
RUN pip install --no-cache-dir "/tmp/tensorviz[lab]" nbgitpuller && rm -rf /tmp/tensorviz
# Compiles the layout engine once, into the image and outside of the home that a volume hides.
ENV XDG_CACHE_HOME=/opt/cache OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1
USER root
RUN install -d -o "${NB_UID}" -g "${NB_GID}" /opt/cache
USER ${NB_UID}
RUN python -c "import tensorviz as tv; x = tv.tensor(3.0, requires_grad=True); (x * x).backward().to_svg()"
