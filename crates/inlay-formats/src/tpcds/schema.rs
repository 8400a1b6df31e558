//! Names and types of the 24 tables, as DuckDB declares them.

use super::TpcdsTable;

/// `name:type` of each column; `dec7` is DECIMAL(7,2).
pub(super) const fn columns(table: TpcdsTable) -> &'static str {
    match table {
        TpcdsTable::IncomeBand => "ib_income_band_sk:big ib_lower_bound:big ib_upper_bound:int",
        TpcdsTable::ShipMode => {
            "sm_ship_mode_sk:big sm_ship_mode_id:text sm_type:text sm_code:text sm_carrier:text sm_contract:text"
        }
        TpcdsTable::Reason => "r_reason_sk:big r_reason_id:text r_reason_desc:text",
        TpcdsTable::Warehouse => {
            "w_warehouse_sk:big w_warehouse_id:text w_warehouse_name:text w_warehouse_sq_ft:big \
             w_street_number:text w_street_name:text w_street_type:text w_suite_number:text w_city:text \
             w_county:text w_state:text w_zip:text w_country:text w_gmt_offset:dec5"
        }
        TpcdsTable::DateDim => {
            "d_date_sk:big d_date_id:text d_date:date d_month_seq:big d_week_seq:big d_quarter_seq:big d_year:big \
             d_dow:big d_moy:big d_dom:big d_qoy:big d_fy_year:big d_fy_quarter_seq:big d_fy_week_seq:big \
             d_day_name:text d_quarter_name:text d_holiday:text d_weekend:text d_following_holiday:text \
             d_first_dom:big d_last_dom:big d_same_day_ly:big d_same_day_lq:big d_current_day:text \
             d_current_week:text d_current_month:text d_current_quarter:text d_current_year:text"
        }
        TpcdsTable::TimeDim => {
            "t_time_sk:big t_time_id:text t_time:big t_hour:big t_minute:big t_second:big t_am_pm:text \
             t_shift:text t_sub_shift:text t_meal_time:text"
        }
        TpcdsTable::HouseholdDemographics => {
            "hd_demo_sk:big hd_income_band_sk:big hd_buy_potential:text hd_dep_count:big hd_vehicle_count:int"
        }
        TpcdsTable::CustomerDemographics => {
            "cd_demo_sk:big cd_gender:text cd_marital_status:text cd_education_status:text \
             cd_purchase_estimate:big cd_credit_rating:text cd_dep_count:big cd_dep_employed_count:big \
             cd_dep_college_count:int"
        }
        TpcdsTable::CustomerAddress => {
            "ca_address_sk:big ca_address_id:text ca_street_number:text ca_street_name:text ca_street_type:text \
             ca_suite_number:text ca_city:text ca_county:text ca_state:text ca_zip:text ca_country:text \
             ca_gmt_offset:dec5 ca_location_type:text"
        }
        TpcdsTable::Item => {
            "i_item_sk:big i_item_id:text i_rec_start_date:date i_rec_end_date:date i_item_desc:text \
             i_current_price:dec7 i_wholesale_cost:dec7 i_brand_id:big i_brand:text i_class_id:big i_class:text \
             i_category_id:big i_category:text i_manufact_id:big i_manufact:text i_size:text i_formulation:text \
             i_color:text i_units:text i_container:text i_manager_id:big i_product_name:text"
        }
        TpcdsTable::Promotion => {
            "p_promo_sk:big p_promo_id:text p_start_date_sk:big p_end_date_sk:big p_item_sk:big p_cost:dec15 \
             p_response_target:big p_promo_name:text p_channel_dmail:text p_channel_email:text \
             p_channel_catalog:text p_channel_tv:text p_channel_radio:text p_channel_press:text \
             p_channel_event:text p_channel_demo:text p_channel_details:text p_purpose:text \
             p_discount_active:text"
        }
        TpcdsTable::Store => {
            "s_store_sk:big s_store_id:text s_rec_start_date:date s_rec_end_date:date s_closed_date_sk:big \
             s_store_name:text s_number_employees:big s_floor_space:big s_hours:text s_manager:text \
             s_market_id:big s_geography_class:text s_market_desc:text s_market_manager:text s_division_id:big \
             s_division_name:text s_company_id:big s_company_name:text s_street_number:text s_street_name:text \
             s_street_type:text s_suite_number:text s_city:text s_county:text s_state:text s_zip:text \
             s_country:text s_gmt_offset:dec5 s_tax_percentage:dec5"
        }
        TpcdsTable::CallCenter => {
            "cc_call_center_sk:big cc_call_center_id:text cc_rec_start_date:date cc_rec_end_date:date \
             cc_closed_date_sk:big cc_open_date_sk:big cc_name:text cc_class:text cc_employees:big cc_sq_ft:big \
             cc_hours:text cc_manager:text cc_mkt_id:big cc_mkt_class:text cc_mkt_desc:text \
             cc_market_manager:text cc_division:big cc_division_name:text cc_company:big cc_company_name:text \
             cc_street_number:text cc_street_name:text cc_street_type:text cc_suite_number:text cc_city:text \
             cc_county:text cc_state:text cc_zip:text cc_country:text cc_gmt_offset:dec5 cc_tax_percentage:dec5"
        }
        TpcdsTable::CatalogPage => {
            "cp_catalog_page_sk:big cp_catalog_page_id:text cp_start_date_sk:big cp_end_date_sk:big \
             cp_department:text cp_catalog_number:big cp_catalog_page_number:big cp_description:text cp_type:text"
        }
        TpcdsTable::WebSite => {
            "web_site_sk:big web_site_id:text web_rec_start_date:date web_rec_end_date:date web_name:text \
             web_open_date_sk:big web_close_date_sk:big web_class:text web_manager:text web_mkt_id:big \
             web_mkt_class:text web_mkt_desc:text web_market_manager:text web_company_id:big \
             web_company_name:text web_street_number:text web_street_name:text web_street_type:text \
             web_suite_number:text web_city:text web_county:text web_state:text web_zip:text web_country:text \
             web_gmt_offset:dec5 web_tax_percentage:dec5"
        }
        TpcdsTable::WebPage => {
            "wp_web_page_sk:big wp_web_page_id:text wp_rec_start_date:date wp_rec_end_date:date \
             wp_creation_date_sk:big wp_access_date_sk:big wp_autogen_flag:text wp_customer_sk:big wp_url:text \
             wp_type:text wp_char_count:big wp_link_count:big wp_image_count:big wp_max_ad_count:int"
        }
        TpcdsTable::Customer => {
            "c_customer_sk:big c_customer_id:text c_current_cdemo_sk:big c_current_hdemo_sk:big \
             c_current_addr_sk:big c_first_shipto_date_sk:big c_first_sales_date_sk:big c_salutation:text \
             c_first_name:text c_last_name:text c_preferred_cust_flag:text c_birth_day:big c_birth_month:big \
             c_birth_year:big c_birth_country:text c_login:text c_email_address:text c_last_review_date_sk:int"
        }
        TpcdsTable::Inventory => {
            "inv_date_sk:big inv_item_sk:big inv_warehouse_sk:big inv_quantity_on_hand:int"
        }
        TpcdsTable::StoreSales => {
            "ss_sold_date_sk:big ss_sold_time_sk:big ss_item_sk:big ss_customer_sk:big ss_cdemo_sk:big \
             ss_hdemo_sk:big ss_addr_sk:big ss_store_sk:big ss_promo_sk:big ss_ticket_number:big ss_quantity:big \
             ss_wholesale_cost:dec7 ss_list_price:dec7 ss_sales_price:dec7 ss_ext_discount_amt:dec7 \
             ss_ext_sales_price:dec7 ss_ext_wholesale_cost:dec7 ss_ext_list_price:dec7 ss_ext_tax:dec7 \
             ss_coupon_amt:dec7 ss_net_paid:dec7 ss_net_paid_inc_tax:dec7 ss_net_profit:dec7"
        }
        TpcdsTable::StoreReturns => {
            "sr_returned_date_sk:big sr_return_time_sk:big sr_item_sk:big sr_customer_sk:big sr_cdemo_sk:big \
             sr_hdemo_sk:big sr_addr_sk:big sr_store_sk:big sr_reason_sk:big sr_ticket_number:big \
             sr_return_quantity:big sr_return_amt:dec7 sr_return_tax:dec7 sr_return_amt_inc_tax:dec7 sr_fee:dec7 \
             sr_return_ship_cost:dec7 sr_refunded_cash:dec7 sr_reversed_charge:dec7 sr_store_credit:dec7 \
             sr_net_loss:dec7"
        }
        TpcdsTable::CatalogSales => {
            "cs_sold_date_sk:big cs_sold_time_sk:big cs_ship_date_sk:big cs_bill_customer_sk:big \
             cs_bill_cdemo_sk:big cs_bill_hdemo_sk:big cs_bill_addr_sk:big cs_ship_customer_sk:big \
             cs_ship_cdemo_sk:big cs_ship_hdemo_sk:big cs_ship_addr_sk:big cs_call_center_sk:big \
             cs_catalog_page_sk:big cs_ship_mode_sk:big cs_warehouse_sk:big cs_item_sk:big cs_promo_sk:big \
             cs_order_number:big cs_quantity:big cs_wholesale_cost:dec7 cs_list_price:dec7 cs_sales_price:dec7 \
             cs_ext_discount_amt:dec7 cs_ext_sales_price:dec7 cs_ext_wholesale_cost:dec7 cs_ext_list_price:dec7 \
             cs_ext_tax:dec7 cs_coupon_amt:dec7 cs_ext_ship_cost:dec7 cs_net_paid:dec7 cs_net_paid_inc_tax:dec7 \
             cs_net_paid_inc_ship:dec7 cs_net_paid_inc_ship_tax:dec7 cs_net_profit:dec7"
        }
        TpcdsTable::CatalogReturns => {
            "cr_returned_date_sk:big cr_returned_time_sk:big cr_item_sk:big cr_refunded_customer_sk:big \
             cr_refunded_cdemo_sk:big cr_refunded_hdemo_sk:big cr_refunded_addr_sk:big \
             cr_returning_customer_sk:big cr_returning_cdemo_sk:big cr_returning_hdemo_sk:big \
             cr_returning_addr_sk:big cr_call_center_sk:big cr_catalog_page_sk:big cr_ship_mode_sk:big \
             cr_warehouse_sk:big cr_reason_sk:big cr_order_number:big cr_return_quantity:big \
             cr_return_amount:dec7 cr_return_tax:dec7 cr_return_amt_inc_tax:dec7 cr_fee:dec7 \
             cr_return_ship_cost:dec7 cr_refunded_cash:dec7 cr_reversed_charge:dec7 cr_store_credit:dec7 \
             cr_net_loss:dec7"
        }
        TpcdsTable::WebSales => {
            "ws_sold_date_sk:big ws_sold_time_sk:big ws_ship_date_sk:big ws_item_sk:big ws_bill_customer_sk:big \
             ws_bill_cdemo_sk:big ws_bill_hdemo_sk:big ws_bill_addr_sk:big ws_ship_customer_sk:big \
             ws_ship_cdemo_sk:big ws_ship_hdemo_sk:big ws_ship_addr_sk:big ws_web_page_sk:big ws_web_site_sk:big \
             ws_ship_mode_sk:big ws_warehouse_sk:big ws_promo_sk:big ws_order_number:big ws_quantity:big \
             ws_wholesale_cost:dec7 ws_list_price:dec7 ws_sales_price:dec7 ws_ext_discount_amt:dec7 \
             ws_ext_sales_price:dec7 ws_ext_wholesale_cost:dec7 ws_ext_list_price:dec7 ws_ext_tax:dec7 \
             ws_coupon_amt:dec7 ws_ext_ship_cost:dec7 ws_net_paid:dec7 ws_net_paid_inc_tax:dec7 \
             ws_net_paid_inc_ship:dec7 ws_net_paid_inc_ship_tax:dec7 ws_net_profit:dec7"
        }
        TpcdsTable::WebReturns => {
            "wr_returned_date_sk:big wr_returned_time_sk:big wr_item_sk:big wr_refunded_customer_sk:big \
             wr_refunded_cdemo_sk:big wr_refunded_hdemo_sk:big wr_refunded_addr_sk:big \
             wr_returning_customer_sk:big wr_returning_cdemo_sk:big wr_returning_hdemo_sk:big \
             wr_returning_addr_sk:big wr_web_page_sk:big wr_reason_sk:big wr_order_number:big \
             wr_return_quantity:big wr_return_amt:dec7 wr_return_tax:dec7 wr_return_amt_inc_tax:dec7 wr_fee:dec7 \
             wr_return_ship_cost:dec7 wr_refunded_cash:dec7 wr_reversed_charge:dec7 wr_account_credit:dec7 \
             wr_net_loss:dec7"
        }
    }
}
