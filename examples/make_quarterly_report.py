# /// script
# requires-python = ">=3.11"
# dependencies = ["reportlab>=4.2"]
# ///
"""Makes quarterly-report.pdf, the document that the README's first command asks about.

    uv run examples/make_quarterly_report.py [FILE]

The same bytes come out of every run with the same version of reportlab: the dates in the file are fixed.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

# reportlab reads it when it writes a document's dates: 2026-10-15 09:00 UTC.
os.environ["SOURCE_DATE_EPOCH"] = "1792054800"

from reportlab.graphics.charts.barcharts import VerticalBarChart
from reportlab.graphics.shapes import Drawing
from reportlab.lib.colors import HexColor, white
from reportlab.lib.enums import TA_RIGHT
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.platypus import (
    BaseDocTemplate,
    Flowable,
    Frame,
    NextPageTemplate,
    PageBreak,
    PageTemplate,
    Paragraph,
    Spacer,
    Table,
    TableStyle,
)

if TYPE_CHECKING:
    from reportlab.pdfgen.canvas import Canvas

COMPANY = "Larkspur Instruments"
TITLE = "Quarterly Report, Third Quarter 2026"
INK, BLUE, PALE, RULE = HexColor("#1f2933"), HexColor("#1f5f8b"), HexColor("#eef4f8"), HexColor("#b8c4ce")
MARGIN = 25 * mm
WIDTH = A4[0] - 2 * MARGIN

BODY = ParagraphStyle("body", fontName="Helvetica", fontSize=11.5, leading=17.5, textColor=INK, spaceAfter=10)
HEADING = ParagraphStyle(
    "heading", parent=BODY, fontName="Helvetica-Bold", fontSize=22, leading=27, textColor=BLUE, spaceAfter=14
)
SUBHEADING = ParagraphStyle(
    "subheading", parent=BODY, fontName="Helvetica-Bold", fontSize=14, leading=18, spaceBefore=16, spaceAfter=8
)
BULLET = ParagraphStyle("bullet", parent=BODY, leftIndent=14, bulletIndent=2, spaceAfter=5)
NOTE = ParagraphStyle("note", parent=BODY, fontSize=9, leading=13, textColor=HexColor("#5b6873"))
CELL = ParagraphStyle("cell", parent=BODY, fontSize=10.5, leading=14, spaceAfter=0)
NUMBER = ParagraphStyle("number", parent=CELL, alignment=TA_RIGHT)


class Section(Flowable):
    """A heading that also stands in the document's outline."""

    def __init__(self, title: str, level: int = 0) -> None:
        super().__init__()
        self._title, self._level = title, level
        self._paragraph = Paragraph(title, HEADING if level == 0 else SUBHEADING)

    def getSpaceBefore(self) -> float:  # noqa: N802  # reportlab's name
        """The space above, as the heading's style has it."""
        return float(self._paragraph.getSpaceBefore())

    def getSpaceAfter(self) -> float:  # noqa: N802  # reportlab's name
        """The space below, as the heading's style has it."""
        return float(self._paragraph.getSpaceAfter())

    def wrap(self, available_width: float, available_height: float) -> tuple[float, float]:
        """The size it takes, in points."""
        self.width, self.height = self._paragraph.wrap(available_width, available_height)
        return self.width, self.height

    def draw(self) -> None:
        """Draw the heading and enter it into the outline."""
        self.canv.bookmarkHorizontal(self._title, 0, self.height)
        self.canv.addOutlineEntry(self._title, self._title, self._level, closed=False)
        self._paragraph.drawOn(self.canv, 0, 0)


def text(content: str) -> Paragraph:
    """Make a paragraph."""
    return Paragraph(content, BODY)


def bullets(*items: str) -> list[Flowable]:
    """Make a list with bullets."""
    return [Paragraph(item, BULLET, bulletText="\u2022") for item in items]


def table(header: list[str], rows: list[list[str]], widths: list[float], *, has_total: bool = False) -> Table:
    """A table whose first column is text and whose others are numbers; ``widths`` are parts of the whole."""
    head_style = ParagraphStyle("head", parent=CELL, fontName="Helvetica-Bold", textColor=white)
    head_number = ParagraphStyle("head_number", parent=head_style, alignment=TA_RIGHT)
    cells = [[Paragraph(cell, head_number if column else head_style) for column, cell in enumerate(header)]]
    for index, row in enumerate(rows):
        is_total = has_total and index == len(rows) - 1
        cells.append(
            [
                Paragraph(f"<b>{cell}</b>" if is_total else cell, NUMBER if column else CELL)
                for column, cell in enumerate(row)
            ]
        )
    made = Table(cells, colWidths=[WIDTH * part / sum(widths) for part in widths], repeatRows=1)
    style = [
        ("BACKGROUND", (0, 0), (-1, 0), BLUE),
        ("VALIGN", (0, 0), (-1, -1), "MIDDLE"),
        ("TOPPADDING", (0, 0), (-1, -1), 7),
        ("BOTTOMPADDING", (0, 0), (-1, -1), 7),
        ("LINEBELOW", (0, 1), (-1, -1), 0.4, RULE),
        ("ROWBACKGROUNDS", (0, 1), (-1, -1), [white, PALE]),
    ]
    if has_total:
        style.append(("LINEABOVE", (0, -1), (-1, -1), 1, BLUE))
    made.setStyle(TableStyle(style))
    return made


def revenue_chart() -> Drawing:
    """Revenue of the last five quarters."""
    drawing = Drawing(WIDTH, 225)
    chart = VerticalBarChart()
    chart.x, chart.y, chart.width, chart.height = 30, 22, WIDTH - 40, 190
    chart.data = [(41.2, 44.9, 43.6, 46.8, 48.7)]
    chart.categoryAxis.categoryNames = ["Q3 2025", "Q4 2025", "Q1 2026", "Q2 2026", "Q3 2026"]
    chart.valueAxis.valueMin, chart.valueAxis.valueMax, chart.valueAxis.valueStep = 0, 60, 20
    chart.barWidth, chart.groupSpacing = 14, 14
    chart.bars[0].fillColor, chart.bars[0].strokeColor = BLUE, None
    chart.barLabels.nudge, chart.barLabelFormat = 8, "%.1f"
    for labels in (chart.barLabels, chart.categoryAxis.labels, chart.valueAxis.labels):
        labels.fontName, labels.fontSize, labels.fillColor = "Helvetica", 9, INK
    chart.valueAxis.visibleGrid, chart.valueAxis.gridStrokeColor = True, RULE
    chart.valueAxis.strokeColor = chart.categoryAxis.strokeColor = RULE
    drawing.add(chart)
    return drawing


def cover(canvas: Canvas, _: BaseDocTemplate) -> None:
    """Draw what is the same whatever the cover says below."""
    width, height = A4
    canvas.setFillColor(BLUE)
    canvas.rect(0, height - 120 * mm, width, 120 * mm, stroke=0, fill=1)
    canvas.setFillColor(white)
    canvas.setFont("Helvetica", 15)
    canvas.drawString(MARGIN, height - 62 * mm, COMPANY)
    canvas.setFont("Helvetica-Bold", 32)
    canvas.drawString(MARGIN, height - 80 * mm, "Quarterly Report")
    canvas.setFont("Helvetica", 18)
    canvas.drawString(MARGIN, height - 92 * mm, "Third Quarter 2026")


def running_head(canvas: Canvas, _: BaseDocTemplate) -> None:
    """Draw the head and the foot of an inner page."""
    width, height = A4
    canvas.setFont("Helvetica", 8.5)
    canvas.setFillColor(HexColor("#5b6873"))
    canvas.setStrokeColor(RULE)
    canvas.setLineWidth(0.5)
    canvas.drawString(MARGIN, height - 16 * mm, COMPANY)
    canvas.drawRightString(width - MARGIN, height - 16 * mm, "Quarterly Report Q3 2026")
    canvas.line(MARGIN, height - 18.5 * mm, width - MARGIN, height - 18.5 * mm)
    canvas.drawCentredString(width / 2, 13 * mm, f"Page {canvas.getPageNumber()} of 6")


def story() -> list[Flowable]:
    """Tell the content, from the cover on."""
    return [
        NextPageTemplate("inside"),
        text(
            f"{COMPANY} makes measuring instruments for water utilities and laboratories. This report covers "
            "the three months from 1 July to 30 September 2026. All amounts are in millions of euros unless "
            "stated otherwise; the figures have not been audited."
        ),
        Spacer(1, 8),
        table(
            ["At a glance", "Q3 2026", "Q3 2025", "Change"],
            [
                ["Revenue", "48.7", "41.2", "+18.2%"],
                ["Gross margin", "54.0%", "52.7%", "+1.3 points"],
                ["Operating profit", "7.9", "5.8", "+36.2%"],
                ["Orders received", "53.4", "44.0", "+21.4%"],
                ["Employees at the end of the quarter", "612", "574", "+38"],
            ],
            [46, 18, 18, 18],
        ),
        Spacer(1, 14),
        Paragraph("Published on 15 October 2026. The company and its figures are invented.", NOTE),
        PageBreak(),
        Section("Summary"),
        text(
            "Revenue grew by 18.2% over the same quarter of last year, to 48.7 million euros. Two thirds of the growth "
            "came from flow meters, where the new Meadow series replaced older models at eleven utilities. "
            "Operating profit rose to 7.9 million euros, a margin of 16.2%."
        ),
        *bullets(
            "Orders of 53.4 million euros exceeded revenue for the fifth quarter in a row.",
            "Delivery times of flow meters fell from nine weeks to five.",
            "The service business reached 10.3 million euros, with 94% of contracts renewed.",
            "The outlook for the full year is raised: revenue of 188 to 192 million euros.",
        ),
        Section("Revenue by quarter", 1),
        revenue_chart(),
        Paragraph("Revenue of the last five quarters, in millions of euros.", NOTE),
        PageBreak(),
        Section("Revenue"),
        text(
            "All three divisions grew. Laboratory instruments, which had declined in the spring, returned to growth as "
            "universities placed orders that they had held back."
        ),
        Section("By division", 1),
        table(
            ["Division", "Q3 2026", "Q3 2025", "Change", "Share"],
            [
                ["Flow meters", "24.6", "19.6", "+25.5%", "50.5%"],
                ["Laboratory instruments", "13.8", "12.9", "+7.0%", "28.3%"],
                ["Service and calibration", "10.3", "8.7", "+18.4%", "21.1%"],
                ["Total", "48.7", "41.2", "+18.2%", "100%"],
            ],
            [36, 16, 16, 16, 16],
            has_total=True,
        ),
        Section("By region", 1),
        table(
            ["Region", "Q3 2026", "Q3 2025", "Change"],
            [
                ["Northern Europe", "17.9", "15.8", "+13.3%"],
                ["Southern Europe", "12.4", "10.9", "+13.8%"],
                ["North America", "11.6", "8.8", "+31.8%"],
                ["Rest of the world", "6.8", "5.7", "+19.3%"],
                ["Total", "48.7", "41.2", "+18.2%"],
            ],
            [40, 20, 20, 20],
            has_total=True,
        ),
        Spacer(1, 10),
        text(
            "North America grew fastest. The distribution agreement with two regional wholesalers, signed in February, "
            "contributed 1.9 million euros."
        ),
        PageBreak(),
        Section("Costs and profit"),
        text(
            "Costs rose more slowly than revenue. Prices of electronic components eased, and the second shift in the "
            "Halden plant spread fixed costs over more instruments."
        ),
        table(
            ["Statement of income", "Q3 2026", "Q3 2025"],
            [
                ["Revenue", "48.7", "41.2"],
                ["Cost of sales", "\u221222.4", "\u221219.5"],
                ["Gross profit", "26.3", "21.7"],
                ["Research and development", "\u22126.9", "\u22126.1"],
                ["Sales and marketing", "\u22127.8", "\u22126.7"],
                ["Administration", "\u22123.7", "\u22123.1"],
                ["Operating profit", "7.9", "5.8"],
            ],
            [50, 25, 25],
            has_total=True,
        ),
        Section("Cash", 1),
        text(
            "Operating cash flow was 9.1 million euros (Q3 2025: 6.4). Capital expenditure of 3.2 million euros went "
            "mainly into the calibration laboratory in Halden. Cash stood at 31.5 million euros on 30 September; the "
            "company has no bank debt."
        ),
        PageBreak(),
        Section("Operations"),
        Section("Production", 1),
        text(
            "The plants made 18,240 flow meters (Q3 2025: 14,900) and 2,115 laboratory instruments (1,980). On-time "
            "delivery improved from 88% to 95%. Of all flow meters, 0.4% came back under warranty, half as many as a "
            "year ago."
        ),
        Section("Product development", 1),
        text("Three products were released during the quarter:"),
        *bullets(
            "<b>Meadow 40</b>, a flow meter for pipes of up to 400 mm, with a battery life of twelve years.",
            "<b>Brook C2</b>, a portable conductivity meter for field work.",
            "<b>Larkspur Connect 3</b>, the software that collects readings, now with open interfaces.",
        ),
        Section("People", 1),
        text(
            "The company had 612 employees at the end of the quarter, 38 more than a year ago. Most joined production "
            "and service. Twenty-one apprentices began their training in August, the largest group so far."
        ),
        PageBreak(),
        Section("Outlook"),
        text(
            "Orders in hand of 61.8 million euros cover the fourth quarter. The company raises its outlook for 2026, "
            "which it last gave in July."
        ),
        table(
            ["Outlook for 2026", "July", "October"],
            [
                ["Revenue", "180 to 186", "188 to 192"],
                ["Operating margin", "14% to 15%", "15% to 16%"],
                ["Capital expenditure", "12", "13"],
            ],
            [50, 25, 25],
        ),
        Section("Risks", 1),
        *bullets(
            "Two suppliers deliver 70% of the pressure sensors; a third is being qualified.",
            "A tenth of revenue is invoiced in US dollars and not hedged beyond six months.",
            "Public utilities may delay projects when budgets for 2027 are decided.",
        ),
        Section("Calendar", 1),
        table(
            ["Event", "Date"],
            [
                ["Report on the fourth quarter of 2026", "18 February 2027"],
                ["Annual general meeting", "22 April 2027"],
                ["Report on the first quarter of 2027", "13 May 2027"],
            ],
            [65, 35],
        ),
    ]


def make(path: Path) -> None:
    """Write the report to a file."""
    document = BaseDocTemplate(
        str(path),
        pagesize=A4,
        title=TITLE,
        author=f"{COMPANY}, Investor Relations",
        subject="Unaudited results for July to September 2026",
        keywords="quarterly report, results, 2026",
        creator="make_quarterly_report.py",
        invariant=1,
        lang="en",
    )
    first = Frame(MARGIN, MARGIN, WIDTH, A4[1] - 140 * mm - MARGIN, id="first", leftPadding=0, rightPadding=0)
    inside = Frame(MARGIN, 20 * mm, WIDTH, A4[1] - 45 * mm, id="inside", leftPadding=0, rightPadding=0)
    document.addPageTemplates(
        [
            PageTemplate("cover", [first], onPage=cover),
            PageTemplate("inside", [inside], onPage=running_head),
        ]
    )
    document.build(story())


if __name__ == "__main__":
    make(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("quarterly-report.pdf"))
