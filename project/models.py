"""The demo shop: what it sells, and what was ordered."""

from typing import Any

from django.db import models
from django.db.models import Count, F, Sum


class Product(models.Model):
    name = models.CharField(max_length=100, unique=True)
    price_cents = models.PositiveIntegerField()
    pieces = models.PositiveIntegerField(help_text="In stock.")

    def __str__(self) -> str:
        return self.name


class OrderQuerySet(models.QuerySet["Order"]):
    def by_product(self) -> models.QuerySet["Order", Any]:
        """Sum up, for each product by name: ``orders``, ``sold`` (pieces) and ``cents`` (revenue)."""
        return (
            self.values(name=F("product__name"))
            .annotate(orders=Count("pk"), sold=Sum("pieces"), cents=Sum(F("pieces") * F("product__price_cents")))
            .order_by("name")
        )


class Order(models.Model):
    customer = models.EmailField()
    product = models.ForeignKey(Product, on_delete=models.CASCADE, related_name="orders")
    pieces = models.PositiveIntegerField()

    objects = OrderQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.pieces} of product {self.product_id} for {self.customer}"
