# rejected: error — it returns nothing
def my_time(cp, launch, flush, clock):
    launch()
