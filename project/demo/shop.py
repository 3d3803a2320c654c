"""The shop's data: what it sells, what was ordered, and what its sales report must therefore say."""

from collections import Counter

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import transaction

from project.models import Order, Product

PRICES = {"Atlas": 4_990, "Compass": 1_250, "Lantern": 2_499, "Rope": 899, "Tent": 18_900}
PIECES_IN_STOCK = 1_000
ORDERS = 2_000
LOGIN = "admin"


def fill() -> None:
    """Replace the shop's data, so that its totals are known."""
    with transaction.atomic():
        Product.objects.all().delete()
        products = Product.objects.bulk_create(
            Product(name=name, price_cents=cents, pieces=PIECES_IN_STOCK) for name, cents in PRICES.items()
        )
        Order.objects.bulk_create(_order(number, products) for number in range(ORDERS))


def expected_report() -> list[list[str]]:
    """Return the report's lines, computed without the database."""
    orders, pieces = Counter[str](), Counter[str]()
    for number in range(ORDERS):
        name = list(PRICES)[number % len(PRICES)]
        orders[name] += 1
        pieces[name] += _pieces(number)
    lines = [
        [name, str(orders[name]), str(pieces[name]), f"{pieces[name] * cents / 100:.2f}"]
        for name, cents in PRICES.items()
    ]
    return [["product", "orders", "pieces", "revenue"], *lines]


def create_admin() -> str:
    """Make the user ``admin`` with the password ``admin``, in DEBUG only; return how to log in."""
    users = get_user_model().objects
    user = users.filter(username=LOGIN).first()
    if user is None and not settings.DEBUG:
        return "no user was made, since DEBUG is off"
    user = user or users.create_superuser(LOGIN, password=LOGIN)
    return f"log in as {LOGIN}, password {LOGIN if user.check_password(LOGIN) else 'as you have set it'}"


def _order(number: int, products: list[Product]) -> Order:
    product = products[number % len(products)]
    return Order(customer=f"customer{number}@example.com", product=product, pieces=_pieces(number))


def _pieces(number: int) -> int:
    return 1 + number % 4
