"""
What SQLAlchemy's suite may ask of the dialect.

Whatever is closed here, or by the suite's defaults and not opened, is left out; docs/sqlalchemy.md says why.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy.testing import exclusions
from sqlalchemy.testing.requirements import SuiteRequirements

_OPEN = """
array_type autocommit boolean_col_expressions check_constraint_reflection column_collation_reflection
comment_reflection comment_reflection_full_unicode computed_columns computed_columns_default_persisted
computed_columns_reflect_persisted computed_columns_stored create_or_replace_view create_table_as
create_temp_table_as cross_schema_fk_reflection ctes ctes_on_dml ctes_with_update_delete ctes_with_values
date_historic datetime_historic datetime_interval datetime_literals datetime_timezone datetime_timezone_historic
default_schema_name_switch deferrable_fks delete_from dialect_level_isolation_level_param except_
expression_server_defaults fetch_expression fetch_first fetch_no_order_by fetch_offset_with_options fetch_percent
fetch_ties fk_constraint_option_reflection_ondelete_noaction float_or_double_precision_behaves_generically
foreign_key_constraint_name_reflection foreign_key_constraint_option_reflection_ondelete
foreign_key_constraint_option_reflection_onupdate has_temp_table identity_columns identity_columns_standard
implicit_default_schema indexes_with_expressions infinity_floats inline_check_constraint_reflection intersect
isolation_level json_array_indexes json_type materialized_views mod_operator_as_percent_sign nullsordering
order_by_label_with_expression percent_schema_names precision_numerics_enotation_large
precision_numerics_enotation_small precision_numerics_many_significant_digits
precision_numerics_retains_significant_digits reflect_indexes_with_expressions reflects_pk_names
reflect_table_options regexp_match
regexp_replace repeated_remote_col_foreign_keys savepoints schema_create_delete
self_referential_foreign_keys server_defaults skip_autocommit_rollback supports_bitwise_and supports_bitwise_not
supports_bitwise_or supports_bitwise_shift supports_bitwise_xor supports_distinct_on table_ddl_if_exists
index_ddl_if_exists table_value_constructor temp_table_comment_reflection temp_table_names temporary_views time_timezone
timestamp_microseconds tuple_in unicode_ddl update_from uuid_data_type views window_functions window_range
window_range_numeric window_range_non_numeric aggregate_order_by reflect_tables_no_columns

"""

_CLOSED = [
    "reflect_indexes_with_ascdesc",
    "fetch_percent",
    "repeated_column_foreign_keys",
    "fk_constraint_option_reflection_ondelete_restrict",
    "fk_constraint_option_reflection_onupdate_restrict",
]


class Requirements(SuiteRequirements):
    """Inlay's answers."""

    def get_order_by_collation(self, _config: Any) -> str:
        return "NOCASE"

    def get_isolation_levels(self, _config: Any) -> dict[str, Any]:
        levels = ["READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE", "AUTOCOMMIT"]
        return {"default": "SERIALIZABLE", "supported": levels}


def _answer(is_open: bool) -> Any:
    return property(lambda self: exclusions.open() if is_open else exclusions.closed())


for _names, _is_open in ((_OPEN.split(), True), (_CLOSED, False)):
    for _name in _names:
        setattr(Requirements, _name, _answer(_is_open))
