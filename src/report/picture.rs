//! A graph laid out in layers, for drawing.

use rust_sugiyama::configure::Config;
use rust_sugiyama::from_vertices_and_edges;
use serde::Serialize;

use crate::graph::{Graph, Kind, clipped};

/// A graph with places. Lengths are in the units of the page: pixels at natural size.
#[derive(Serialize)]
pub struct Picture {
    title: String,
    /// Whether node `n` is item `n` of the program.
    pub items: bool,
    width: i64,
    height: i64,
    nodes: Vec<Spot>,
    /// From, to, and the points that the arrow passes, x and y in turn.
    edges: Vec<(usize, usize, String, Vec<i64>)>,
    /// How many nodes there are, when they are too many to draw.
    too_many: Option<usize>,
}

/// A node with its place: the middle, and its width.
#[derive(Serialize)]
struct Spot {
    label: String,
    note: String,
    text: String,
    kind: Kind,
    queue: Option<String>,
    line: Option<usize>,
    x: i64,
    y: i64,
    width: i64,
}

/// The most nodes that a picture is of some use with.
const MOST: usize = 400;

/// The most nodes and bends that are laid out.
const MOST_POINTS: usize = 4000;

/// The most characters of a label.
const LABEL: usize = 36;

const NODE_HEIGHT: f64 = 40.0;
const CHAR_WIDTH: f64 = 7.0;
const PADDING: f64 = 20.0;
const SPACING: f64 = 24.0;
/// The room of an arrow that passes a layer.
const BEND: f64 = 6.0;

impl Picture {
    /// Lays a graph out; one of too many nodes is only counted.
    pub fn of(title: &str, graph: &Graph) -> Self {
        let mut picture = Self {
            title: title.to_owned(),
            items: false,
            width: 0,
            height: 0,
            nodes: Vec::new(),
            edges: Vec::new(),
            too_many: None,
        };
        let layers = layers(graph);
        let bends: usize = graph.edges.iter().map(|e| layers[e.to] - layers[e.from] - 1).sum();
        if graph.nodes.len() > MOST || graph.nodes.len() + bends > MOST_POINTS {
            picture.too_many = Some(graph.nodes.len());
            return picture;
        }
        let width = |label: &str, note: &str| {
            let chars = label.chars().count().max(note.chars().count());
            (chars as f64 * CHAR_WIDTH + PADDING).max(NODE_HEIGHT)
        };
        let labels: Vec<(String, String)> = graph
            .nodes
            .iter()
            .map(|node| (clipped(&node.label, LABEL), clipped(&node.note, LABEL)))
            .collect();
        let mut sizes: Vec<(u32, (f64, f64))> = Vec::new();
        for (index, (label, note)) in labels.iter().enumerate() {
            sizes.push((index as u32, (width(label, note), NODE_HEIGHT)));
        }
        // An arrow over several layers becomes a chain of points, so that it goes around what lies between.
        let mut links = Vec::new();
        let mut chains = Vec::new();
        for edge in &graph.edges {
            let mut chain = vec![edge.from];
            for _ in layers[edge.from] + 1..layers[edge.to] {
                chain.push(sizes.len());
                sizes.push((sizes.len() as u32, (BEND, NODE_HEIGHT)));
            }
            chain.push(edge.to);
            links.extend(chain.windows(2).map(|pair| (pair[0] as u32, pair[1] as u32)));
            chains.push(chain);
        }
        links.sort_unstable();
        links.dedup();
        let mut places = vec![(0.0, 0.0); sizes.len()];
        let mut left = 0.0;
        let config = Config { vertex_spacing: SPACING, ..Config::default() };
        for (part, ..) in from_vertices_and_edges(&sizes, &links, &config) {
            let half = |vertex: usize| sizes[vertex].1.0 / 2.0;
            let low = part.iter().map(|(v, (x, _))| x - half(*v)).fold(f64::INFINITY, f64::min);
            let top = part.iter().map(|(_, (_, y))| *y).fold(f64::INFINITY, f64::min);
            let mut right = left;
            for (vertex, (x, y)) in part {
                let place = (x - low + left, y - top + NODE_HEIGHT / 2.0);
                right = f64::max(right, place.0 + half(vertex));
                places[vertex] = place;
            }
            left = right + SPACING;
        }
        let whole = |at: f64| at.round() as i64;
        picture.width = whole(left - SPACING).max(0);
        let bottom = places.iter().map(|place| place.1).fold(0.0, f64::max);
        picture.height = whole(bottom + NODE_HEIGHT / 2.0);
        for (index, (node, (label, note))) in graph.nodes.iter().zip(labels).enumerate() {
            picture.nodes.push(Spot {
                label,
                note,
                text: node.text.clone(),
                kind: node.kind,
                queue: node.queue.clone(),
                line: node.line,
                x: whole(places[index].0),
                y: whole(places[index].1),
                width: whole(sizes[index].1.0),
            });
        }
        for (edge, chain) in graph.edges.iter().zip(chains) {
            let points = chain.iter().flat_map(|&at| [whole(places[at].0), whole(places[at].1)]);
            picture.edges.push((edge.from, edge.to, edge.label.clone(), points.collect()));
        }
        picture
    }
}

/// The layer of each node: one below the lowest that it hangs from. Arrows lead to later nodes.
fn layers(graph: &Graph) -> Vec<usize> {
    let mut layers = vec![0; graph.nodes.len()];
    let mut edges: Vec<(usize, usize)> =
        graph.edges.iter().map(|edge| (edge.to, edge.from)).collect();
    edges.sort_unstable();
    for (to, from) in edges {
        layers[to] = layers[to].max(layers[from] + 1);
    }
    layers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Edge, Node};

    fn graph(nodes: usize, edges: &[(usize, usize)]) -> Graph {
        let node = |index: usize| Node {
            label: format!("node {index}"),
            note: String::new(),
            text: String::new(),
            kind: Kind::Elementwise,
            line: None,
            queue: None,
        };
        let edge = |&(from, to): &(usize, usize)| Edge { from, to, label: String::new() };
        Graph {
            name: String::new(),
            nodes: (0..nodes).map(node).collect(),
            edges: edges.iter().map(edge).collect(),
        }
    }

    #[test]
    fn nodes_of_a_layer_do_not_overlap_and_arrows_lead_down() {
        let edges = [(0, 1), (0, 2), (1, 3), (2, 3), (0, 3), (4, 5)];
        let picture = Picture::of("", &graph(7, &edges));
        assert_eq!((picture.nodes.len(), picture.edges.len()), (7, 6));
        for (index, a) in picture.nodes.iter().enumerate() {
            assert!(a.x - a.width / 2 >= 0 && a.x + a.width / 2 <= picture.width, "{index}");
            for b in &picture.nodes[..index] {
                assert!(a.y != b.y || (a.x - b.x).abs() >= (a.width + b.width) / 2);
            }
        }
        for (from, to, _, points) in &picture.edges {
            assert!(picture.nodes[*from].y < picture.nodes[*to].y);
            assert_eq!(points[1], picture.nodes[*from].y);
            assert_eq!(points[points.len() - 1], picture.nodes[*to].y);
        }
        // The arrow past the middle layer bends there.
        assert_eq!(picture.edges[4].3.len(), 6);
    }

    proptest::proptest! {
        #[test]
        fn any_graph_can_be_drawn(
            nodes in 1usize..60,
            edges in proptest::collection::vec((0usize..60, 0usize..60), 0..150),
        ) {
            let mut edges: Vec<(usize, usize)> =
                edges.into_iter().filter(|&(from, to)| from < to && to < nodes).collect();
            edges.sort_unstable();
            edges.dedup();
            let picture = Picture::of("", &graph(nodes, &edges));
            proptest::prop_assert_eq!(picture.nodes.len(), nodes);
            for (from, to, _, points) in &picture.edges {
                proptest::prop_assert!(picture.nodes[*from].y < picture.nodes[*to].y);
                proptest::prop_assert_eq!(points.len() % 2, 0);
            }
            for spot in &picture.nodes {
                proptest::prop_assert!(spot.x >= 0 && spot.x <= picture.width);
                proptest::prop_assert!(spot.y >= 0 && spot.y <= picture.height);
            }
        }
    }

    #[test]
    fn what_is_too_large_is_counted_only() {
        let picture = Picture::of("", &graph(MOST + 1, &[]));
        assert_eq!((picture.too_many, picture.nodes.len()), (Some(MOST + 1), 0));
        let empty = Picture::of("", &graph(0, &[]));
        assert_eq!((empty.width, empty.height, empty.too_many), (0, 20, None));
    }
}
