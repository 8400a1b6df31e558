"""Django's SQLite back end on Inlay: models, migrations forth and back, queries; each answer is SQLite's."""

import os
import subprocess
import sys

import pytest

from bindings.sqlite.tests.preload import LIBRARY, interpreter, preloaded

PROGRAM = '''
import datetime, io, sys
from decimal import Decimal
from pathlib import Path
folder = Path(sys.argv[1])
app = folder / "shelf"
(app / "migrations").mkdir(parents=True)
(app / "__init__.py").write_text("")
(app / "migrations" / "__init__.py").write_text("")
(app / "models.py").write_text("""
from django.db import models

class Author(models.Model):
    name = models.CharField(max_length=50, unique=True)
    born = models.DateField(null=True)

class Tag(models.Model):
    word = models.CharField(max_length=20, primary_key=True)

class Book(models.Model):
    author = models.ForeignKey(Author, on_delete=models.CASCADE, related_name="books")
    title = models.CharField(max_length=80, db_index=True)
    price = models.DecimalField(max_digits=8, decimal_places=2)
    added = models.DateTimeField(auto_now_add=True)
    is_sold = models.BooleanField(default=False)
    tags = models.ManyToManyField(Tag)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["author", "title"], name="one_title")]
""")
MORE = """
from django.db import migrations, models

def fill(apps, schema_editor):
    apps.get_model("shelf", "Book").objects.filter(pages=None).update(pages=7)

class Migration(migrations.Migration):
    dependencies = [("shelf", "0001_initial")]
    operations = [
        migrations.AddField("Book", "pages", models.IntegerField(null=True)),
        migrations.RunPython(fill, migrations.RunPython.noop),
        migrations.AlterField("Book", "title", models.CharField(max_length=200)),
        migrations.RenameField("Author", "born", "birthday"),
        migrations.AddIndex("Book", models.Index(fields=["pages"], name="pages_index")),
        migrations.RenameModel("Tag", "Word"),
        migrations.CreateModel("Extra", [("id", models.BigAutoField(primary_key=True)), ("data", models.JSONField())]),
        migrations.DeleteModel("Extra"),
    ]
"""
sys.path.insert(0, str(folder))
import django
from django.conf import settings
settings.configure(
    INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "shelf"],
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": str(folder / "db.sqlite3")}},
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField", USE_TZ=True,
)
django.setup()
from django.core.management import call_command
call_command("makemigrations", "shelf", verbosity=0)
call_command("migrate", verbosity=0)
from django.contrib.auth.models import User
from django.db import IntegrityError, connection, models as m, transaction
from shelf.models import Author, Book, Tag

ada = Author.objects.create(name="Ada", born=datetime.date(1815, 12, 10))
grace = Author.objects.create(name="Grace")
Tag.objects.bulk_create([Tag(word=word) for word in "xyz"])
for i in range(5):
    book = Book.objects.create(author=ada if i % 2 else grace, title=f"t{i}", price=Decimal(i) + Decimal("0.25"))
    book.tags.set(["x", "y"][: i % 3])
try:
    with transaction.atomic():
        Author.objects.create(name="Ada")
except IntegrityError as error:
    print(error)
books = Book.objects.order_by("id")
print(list(books.filter(author__name="Ada", price__gt=1).values_list("title", "price")))
print(books.aggregate(m.Sum("price"), m.Avg("price"), m.Count("id"), m.Max("title")))
authors = Author.objects.annotate(n=m.Count("books"), s=m.Sum("books__price")).order_by("name")
print(list(authors.values_list("name", "n", "s")))
print(books.filter(title="t1").update(price=m.F("price") + 1))
print(list(books.filter(title__icontains="T", title__endswith="3").values_list("title", flat=True)))
print(list(Author.objects.filter(born__year=1815).values_list("name", "born__month")))
print(books.filter(m.Q(price__lt=1) | m.Q(tags__word="y")).distinct().count())
print([book.author.name for book in books.select_related("author")])
print([[tag.word for tag in book.tags.order_by("word")] for book in books.prefetch_related("tags")])
print(Author.objects.get_or_create(name="New")[1])
upsert = {"update_conflicts": True, "unique_fields": ["name"], "update_fields": ["born"]}
Author.objects.bulk_create([Author(name="Ada", born=datetime.date(2000, 1, 1))], **upsert)
print(Author.objects.get(name="Ada").born)
print(Author.objects.filter(m.Exists(Book.objects.filter(author=m.OuterRef("pk")))).count())
print(sorted(Author.objects.values_list("name").union(Tag.objects.values_list("word"))))
kind = m.Case(m.When(price__gt=2, then=m.Value("dear")), default=m.Value("cheap"))
print(list(books.annotate(kind=kind).values_list("kind")))
print(User.objects.create_user("u", "u@x", "p").check_password("p"))

(app / "migrations" / "0002_more.py").write_text(MORE)
call_command("migrate", "shelf", verbosity=0)
with connection.cursor() as cursor:
    print(sorted(name for name in connection.introspection.table_names(cursor) if name.startswith("shelf")))
    found = connection.introspection.get_constraints(cursor, "shelf_book")
    print(sorted((key["columns"], key["unique"], key["index"]) for key in found.values()))
    print(cursor.execute("SELECT count(*), sum(pages) FROM shelf_book").fetchone())
call_command("migrate", "shelf", "0001", verbosity=0)
with connection.cursor() as cursor:
    print(sorted(column.name for column in connection.introspection.get_table_description(cursor, "shelf_book")))
print(list(books.order_by("id", "tags__word").values_list("title", "tags__word")))
print(Author.objects.filter(name="Ada").delete())
out = io.StringIO()
call_command("inspectdb", "shelf_author", stdout=out)
print("unique=True" in out.getvalue())
call_command("flush", interactive=False, verbosity=0)
print(Author.objects.create(name="again").pk, Book.objects.count())
'''


def test_a_project_runs_as_on_sqlite(tmp_path):
    pytest.importorskip("django")
    if not LIBRARY.exists() or interpreter() != sys.executable:
        pytest.skip("the library is not built, or this interpreter's sqlite3 cannot be replaced")
    answers = []
    for name, env in [("sqlite", dict(os.environ)), ("inlay", preloaded())]:
        command = [sys.executable, "-c", PROGRAM, str(tmp_path / name)]
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        answers.append(done.stdout)
    assert answers[0].splitlines() == answers[1].splitlines()
    assert (tmp_path / "sqlite" / "db.sqlite3").read_bytes()[:6] == b"SQLite"
    assert (tmp_path / "inlay" / "db.sqlite3").read_bytes()[:6] != b"SQLite"
