"""JupyterLab for the course: nothing is fetched from the network, no pop-ups."""

c = get_config()  # noqa: F821  (JupyterLab provides it)
c.LabApp.news_url = None
c.LabApp.check_for_updates_class = "jupyterlab.NeverCheckForUpdate"
c.LabApp.extension_manager = "readonly"
