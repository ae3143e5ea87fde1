import os
import pytest
@pytest.fixture
def _fold(request):
    return request.param
def pytest_generate_tests(metafunc):
    metafunc.fixturenames.append("_fold")
    metafunc.parametrize("_fold", range(int(os.environ.get("FOLD", 30))), indirect=True)
