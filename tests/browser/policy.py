"""The strictest policy that a site may have, which all our pages have to do with."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

STRICT = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


def strict_policy(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Have the browser refuse all that is inline or comes from elsewhere."""

    def respond(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        response["Content-Security-Policy"] = STRICT
        return response

    return respond
