import asyncio
import gc
import weakref

import pytest

from oneclaw_core.system.threads import DaemonExecutor, ThreadWatch, run_in_thread

pytestmark = pytest.mark.every_python


class Result:
    pass


@pytest.mark.parametrize("run", [run_in_thread, asyncio.to_thread])
def test_results_are_freed_when_the_caller_is_done_with_them(run):
    async def work():
        asyncio.get_running_loop().set_default_executor(DaemonExecutor())
        with ThreadWatch() as watch:
            result = weakref.ref(await run(Result))
            while watch.are_left or result() is not None:
                await asyncio.sleep(0.001)  # the thread has yet to return

    gc.disable()
    try:
        asyncio.run(asyncio.wait_for(work(), timeout=5))
    finally:
        gc.enable()
